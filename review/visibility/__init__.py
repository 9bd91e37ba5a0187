"""Visibility: blindness, original pixels, images with patient data."""
