"""Build pipeline: raw datasets to images, items and a release."""

__all__ = [
    "asked_columns",
    "build_report",
    "build_tables",
    "column_blocks",
    "name_batches",
    "pipeline",
    "readers",
    "record_columns",
    "record_tables",
    "workspace_sources",
]
