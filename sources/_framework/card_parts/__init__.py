"""Parsers of the tables of a card, each with its own checks."""

__all__ = [
    "access",
    "claims",
    "counts",
    "drawn_in",
    "fields",
    "gate",
    "geometry",
    "home",
    "layout",
    "measures",
    "pixels",
    "quirks",
    "self_checks",
    "values",
]
