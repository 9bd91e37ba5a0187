"""Proposed wordings, guidelines and comments."""

__all__ = ["comments", "guidelines", "lint_facts", "option_letters", "proposals"]
