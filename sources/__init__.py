"""Raw datasets: one folder per source with its card, adapter and fixture, and their contract."""

__all__ = ["_formats", "_framework", "registry"]
