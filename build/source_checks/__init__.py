"""Checks of a source on its fixture: contract, damaged copies, privacy, vocabulary."""

__all__ = ["source_check", "vocabulary_check"]
