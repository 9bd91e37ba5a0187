"""Release writing: tables, metadata, licences, editions."""

__all__ = [
    "changes",
    "contact_sheets",
    "image_writers",
    "licences",
    "metadata",
    "raw_files_table",
    "review_verdicts",
    "write",
]
