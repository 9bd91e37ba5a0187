"""A raw copy as adapters see it."""
