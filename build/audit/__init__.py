"""Audit of items and releases: batch rules, leakage tests, HTML page."""
