"""On-disk format of a release, shared by build, review and evaluate."""

__all__ = [
    "errata",
    "format_version",
    "images",
    "item_facts",
    "item_sets",
    "open_rows",
    "row_reading",
    "rows",
    "shards",
    "strict_json",
    "tar_members",
    "tree",
    "vocabulary_file",
]
