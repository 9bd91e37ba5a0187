"""What is asked of a model: which items, under which condition, in which words."""
