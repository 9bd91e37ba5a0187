"""Statements that must be fast or must lock, written by hand."""
