"""The format of a release on disk, as build, review and evaluate read it."""

__all__ = [
    "errata",
    "format_version",
    "item_facts",
    "item_sets",
    "open_rows",
    "rows",
    "strict_json",
    "tree",
    "vocabulary_file",
]
