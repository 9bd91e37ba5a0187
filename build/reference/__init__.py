"""Reference pages generated from code and cards."""

__all__ = ["audit_rules", "formats", "tasks", "wordings", "yields"]
