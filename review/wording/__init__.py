"""Proposed wordings, guidelines and comments."""

__all__ = ["comments", "guidelines", "option_letters", "proposals"]
