"""Commands of ``medrcube tasks``."""

__all__ = ["app"]
