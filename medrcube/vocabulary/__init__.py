"""Vocabulary: words of the axes and tables about concepts, as data in layers."""

__all__ = ["image_names", "layers", "word"]
