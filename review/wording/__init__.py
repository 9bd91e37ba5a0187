"""Proposed wordings, guidelines and comments."""
