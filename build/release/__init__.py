"""Release writing: tables, metadata, licences, editions."""

__all__ = [
    "changes",
    "contact_sheets",
    "image_writers",
    "open_facts",
    "raw_files_table",
    "review_verdicts",
    "write",
]
