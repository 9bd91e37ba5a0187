"""Import result files of other harnesses as runs."""

__all__ = ["import_run", "item_matching", "replies", "shown_options", "table_rows"]
