"""Other wordings of an item, the guidelines, and comments."""
