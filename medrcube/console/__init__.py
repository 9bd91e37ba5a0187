"""Progress, messages and tables on a terminal."""

__all__ = ["counts", "progress", "verbosity"]
