"""Delimited text and spreadsheets, and handling of unusable rows."""

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
