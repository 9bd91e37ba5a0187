"""Video reader."""

__all__ = ["video"]
