"""Viewer copies: original pixels for reviewers, in the workspace only."""

__all__ = ["case_copies", "copies", "table"]
