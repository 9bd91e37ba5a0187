"""Delimited text and spreadsheets, and their unusable rows."""

__all__ = [
    "arrays",
    "boxes",
    "contents",
    "delimited",
    "notices",
    "redaction",
    "rows",
    "spreadsheets",
    "tables",
]
