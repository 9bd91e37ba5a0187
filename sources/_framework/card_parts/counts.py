"""``[[count]]`` of a card: images per answer in the complete dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable

__all__ = ["AnswerCount", "parse_count"]

IMAGE_KINDS = ("clean", "outline", "boxes", "numbered", "scale-bar", "mirrored", "compared")
"""Kinds of image that answers are counted on, as in ``build.samples``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCount:
    """Pictures of the complete data set by what a field says of them.

    Attributes:
        field: name of the field.
        shown: kind of image; what a clean image states, and what is marked on others.
        pictures: concept -> images of which it is stated to be true, and that may be asked
            about as far as the source tells; a concept that is left out has none.
        beside: concept -> concepts that may stand against it on some of these images, for a
            field whose values may be true together: there no single value tells.
        reason: what was counted.
        evidence: where it stands, or what it was counted from.
    """

    field: str
    shown: str
    pictures: Mapping[str, int]
    beside: Mapping[str, tuple[str, ...]]
    reason: str
    evidence: str


def parse_count(table: TomlTable, concepts: Mapping[str, tuple[str, ...]]) -> AnswerCount:
    """Read one ``[[count]]``.

    Args:
        table: the table.
        concepts: field of the card -> what it can state.

    Raises:
        CardError: a key is missing, or names a field or concept that the card lacks.
    """
    field = table.text("field", choices=tuple(concepts))
    pictures = table.counts("pictures", such_as="concept = images, such as { PA = 120 }")
    beside = table.lists("beside") if table.has("beside") else {}
    for concept in {*pictures, *beside, *(name for names in beside.values() for name in names)}:
        if concept not in concepts[field]:
            table.fail("pictures", f"concepts of {field!r}: {', '.join(concepts[field])}", concept)
    return AnswerCount(
        field=field,
        shown=table.text("shown", default="clean", choices=IMAGE_KINDS),
        pictures=pictures,
        beside=beside,
        reason=table.text("reason"),
        evidence=table.text("evidence"),
    )
