"""Delimited text and spreadsheets, and their unusable rows."""
