"""Commands of ``medrcube tasks``."""
