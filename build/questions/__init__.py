"""From facts to items: which questions may be asked, which options are safe, in which words."""
