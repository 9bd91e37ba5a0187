"""A release in the forms that other harnesses read."""

__all__ = ["csv_table", "export", "inspect_log", "inspect_run", "selection", "vlmevalkit"]
