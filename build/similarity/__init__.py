"""Near-duplicate images: perceptual-hash pairs and thresholds."""
