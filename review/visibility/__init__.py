"""Visibility: blindness, original pixels, images with patient data."""

__all__ = ["disclosure", "originals", "privacy_incidents"]
