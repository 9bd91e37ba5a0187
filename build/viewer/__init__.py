"""Viewer copies: original pixels for reviewers, in the workspace only."""
