"""Vocabulary: words of the axes and tables about concepts, as layered data."""

__all__ = ["image_names", "layers", "word"]
