"""Delimited text and spreadsheets, and the rows that cannot be used."""
