"""Near-duplicate pictures: pairs by Hamming distance, and the thresholds."""
