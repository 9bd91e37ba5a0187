"""What a model is asked: which items, in which condition, in which words."""
