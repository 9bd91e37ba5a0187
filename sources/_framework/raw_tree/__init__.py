"""Raw trees: the files of a copy as adapters see them."""

__all__ = [
    "globs",
    "opened_files",
    "pixel_files",
    "public_names",
    "raw_tree",
    "roots",
    "survey",
    "survey_tables",
]
