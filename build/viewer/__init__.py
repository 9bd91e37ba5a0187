"""Viewer copies: original pixels for reviewers, stored only in the workspace."""

__all__ = ["case_copies", "copies", "table"]
