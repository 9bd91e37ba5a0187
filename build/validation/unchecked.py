"""Parts of a release that validation could not check, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from medrcube.build.reconstruction.recipes import RECIPES
from medrcube.build.release.editions.private_edition import SUMS
from medrcube.build.release.metadata.licences import LICENCES
from medrcube.build.validation.consistency import ITEMS
from medrcube.build.validation.release_format import later_columns, later_tables
from medrcube.console.counts import counted
from medrcube.release_format.format_version import AUDIT, ReleaseFormat
from medrcube.release_format.item_facts import ITEMS as ITEM_FACTS
from medrcube.release_format.item_sets import SETS
from medrcube.release_format.tree import safe_repr

__all__ = ["items_of_unknown_forms", "unchecked_parts"]

_UNCHECKED = {
    SUMS: "whether files were changed, added or lost",
    RECIPES: "whether the pixels are the released ones, and how they were made",
    ITEMS: "whether every wrong option has evidence that it is wrong",
    AUDIT: "whether the audit passed",
    LICENCES: "the licence of each item",
    ITEM_FACTS: "which items share a patient, and whether their images show the answer",
    SETS: "which items are scored together",
}
_COLUMNS = {
    "unit": "which items share a patient",
    "fact": "which items of another edition state the same fact",
}


def unchecked_parts(files: Collection[str], release_format: ReleaseFormat | None) -> Iterator[str]:
    """Yield the parts of a release that could not be checked.

    Args:
        files: files in it.
        release_format: its format; ``None`` for a tree without proofs.
    """
    for name, what in _UNCHECKED.items():
        if release_format and name in later_tables(release_format):
            yield f"{what} ({name} is not in format {release_format.number})"
        elif name not in files:
            yield f"{what} (no {name})"
    if release_format:
        for name in later_columns(release_format):
            yield f"{_COLUMNS[name]} (the column {name} is not in format {release_format.number})"
    else:
        yield "duplicates and leaks, which an audit looks for"


def items_of_unknown_forms(unknown_forms: Mapping[str, int]) -> Iterator[str]:
    """Yield the number of items of each answer form unknown to this version."""
    for form, count in sorted(unknown_forms.items()):
        yield (
            f"{counted(count, 'item')} of the answer form {safe_repr(form)}, "
            "which this version does not support"
        )
