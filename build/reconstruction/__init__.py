"""Reconstruction of withheld images from raw data."""

__all__ = [
    "complete_shards",
    "needed_files",
    "outcomes",
    "published_release",
    "recipes",
    "reconstruct",
    "safe_writes",
]
