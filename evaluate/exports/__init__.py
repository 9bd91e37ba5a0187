"""Exports of a release for other evaluation harnesses."""

__all__ = ["csv_table", "export", "inspect_log", "inspect_run", "selection", "vlmevalkit"]
