"""The commands of ``medrcube ontologies``, one module each."""

__all__ = ["app"]
