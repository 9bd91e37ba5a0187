"""Which items go to which reviewers."""
