"""Raw trees: files of a copy as adapters see them."""
