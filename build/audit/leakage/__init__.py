"""Leakage: models that predict the key, or the source, from anything but the image."""

__all__ = ["box_geometry", "conditional_logit", "key_words", "leakage_tests", "source_leakage"]
