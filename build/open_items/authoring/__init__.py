"""Contract checks of a task with a rule, on placeholder cases."""

__all__ = ["task_check"]
