"""The commands of ``medrcube sources``, one module each."""

__all__ = ["app"]
