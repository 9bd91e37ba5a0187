"""Report text: phrases and negation."""

__all__ = ["negation", "phrases"]
