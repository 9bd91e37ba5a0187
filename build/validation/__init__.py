"""Validation of a release tree."""
