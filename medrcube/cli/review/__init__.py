"""The commands of ``medrcube review``, one module each or for a few that belong together."""

__all__ = ["app"]
