"""Comparison of runs: two of them item by item, or many at once."""
