"""Detection of graphics burnt into the pixels: calipers, text, arrows."""

__all__ = ["detection"]
