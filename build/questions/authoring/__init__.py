"""Tools for authors of tasks and templates: scaffold, contract checks, wording occasions."""

__all__ = ["occasions", "own_templates", "task_check", "task_scaffold"]
