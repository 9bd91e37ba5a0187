"""Tasks: one folder per task with its declaration and its question templates."""

__all__ = ["declaration", "registry"]
