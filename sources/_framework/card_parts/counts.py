"""``[[count]]`` of a card: number of images per answer in the complete dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable

__all__ = ["AnswerCount", "parse_count"]

IMAGE_KINDS = ("clean", "outline", "boxes", "numbered", "scale-bar", "mirrored", "compared")
"""Kinds of image for which answers are counted, as in ``build.samples``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCount:
    """Number of images in the complete dataset for each concept of a field.

    Attributes:
        field: name of the field.
        shown: kind of image: stated for a clean image, or marked on another kind.
        pictures: concept -> number of images for which it is stated to be true and that may be
            asked about as far as the source determines; a missing concept has none.
        beside: concept -> concepts that can be its distractors on some of these images, for a
            field whose values may be true together, where no single value decides this.
        reason: what was counted.
        evidence: where the count is stated, or what it was counted from.
    """

    field: str
    shown: str
    pictures: Mapping[str, int]
    beside: Mapping[str, tuple[str, ...]]
    reason: str
    evidence: str


def parse_count(table: TomlTable, concepts: Mapping[str, tuple[str, ...]]) -> AnswerCount:
    """Parse one ``[[count]]``.

    Args:
        table: the TOML table.
        concepts: field of the card -> concepts that it can state.

    Raises:
        CardError: a key is missing, or names a field or concept that is not in the card.
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
