"""Visibility: disclosure, original pixels, and images with patient data."""

__all__ = ["disclosure", "originals", "privacy_incidents"]
