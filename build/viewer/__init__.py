"""Viewer copies: original pixels for reviewers, kept in the workspace alone."""
