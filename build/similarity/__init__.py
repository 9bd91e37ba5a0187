"""Near-duplicate images: perceptual-hash pairs and thresholds."""

__all__ = ["near_duplicates", "thresholds"]
