"""Cost of a run: forecast, estimate and budget."""

__all__ = ["budget", "estimate", "forecast"]
