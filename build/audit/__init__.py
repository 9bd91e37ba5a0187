"""Audit of items and releases: batch rules, leakage tests, HTML page."""

__all__ = ["asked_pictures", "batch_audit", "batch_rules", "open_rules", "release_audit"]
