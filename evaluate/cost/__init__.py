"""What a run costs: forecast, estimate and budget."""

__all__ = ["budget", "estimate", "forecast"]
