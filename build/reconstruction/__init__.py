"""Reconstruction of withheld images from raw data."""
