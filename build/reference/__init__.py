"""Reference pages generated from code and cards."""

__all__ = ["audit_rules", "formats", "task_by_task", "tasks", "wordings", "yields"]
