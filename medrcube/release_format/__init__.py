"""On-disk format of a release, shared by build, review and evaluate."""

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
