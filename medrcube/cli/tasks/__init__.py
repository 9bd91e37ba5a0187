"""Commands of ``medrcube tasks``."""

__all__ = ["app", "list_tasks"]
