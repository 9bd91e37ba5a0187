"""Validation of a release tree."""

__all__ = ["validate"]
