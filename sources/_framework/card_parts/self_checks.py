"""``[enclosed]`` and ``[side]`` of a card: anatomical plausibility checks of masks.

These cheap checks detect errors that no header reveals: labels of another edition, in which the
same numbers denote other structures, and flipped images.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable

__all__ = ["Enclosed", "Side", "parse_enclosed", "parse_side"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosed:
    """A structure that lies within another one.

    Attributes:
        part: concept of the enclosed structure.
        by: concept of the enclosing structure.
        share: minimum share of its edge, over all slices, that borders on the enclosing one.
        reason: why, and why this share, for people.
        evidence: URL, DOI or title that shows it.
    """

    part: str
    by: str
    share: float
    reason: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A fact of the case that states on which side of the body its marks lie.

    Attributes:
        fact: name of the fact; a value other than the two below means that the side is unknown.
        left: value for the left side of the patient.
        right: value for the right side.
        reason: why the middle of the image separates the sides, for people.
        evidence: URL, DOI or title that shows it.
    """

    fact: str
    left: str
    right: str
    reason: str
    evidence: str


def parse_enclosed(table: TomlTable, concepts: Collection[str]) -> Enclosed:
    """Parse ``[enclosed]``; both structures are concepts of the card."""
    return Enclosed(
        part=table.text("part", choices=tuple(concepts)),
        by=table.text("by", choices=tuple(concepts)),
        share=table.number("share"),
        reason=table.text("reason"),
        evidence=table.text("evidence"),
    )


def parse_side(table: TomlTable) -> Side:
    """Parse ``[side]``."""
    return Side(
        fact=table.text("fact"),
        left=table.text("left"),
        right=table.text("right"),
        reason=table.text("reason"),
        evidence=table.text("evidence"),
    )
