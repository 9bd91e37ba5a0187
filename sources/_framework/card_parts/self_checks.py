"""``[enclosed]`` and ``[side]`` of a card: anatomical checks of masks.

Such checks cost nothing and find what no header tells: labels of another edition, whose numbers
mean other structures, and images that lie the other way round.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable

__all__ = ["Enclosed", "Side", "parse_enclosed", "parse_side"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosed:
    """A part of the body that lies within another one.

    Attributes:
        part: concept of what is enclosed.
        by: concept of what encloses it.
        share: least share of its edge, over all slices, that the other one lies at.
        reason: why so, and why by that much, for people.
        evidence: URL, DOI or title that shows it.
    """

    part: str
    by: str
    share: float
    reason: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A fact of the case that says on which side of the body its marks lie.

    Attributes:
        fact: name of the fact; with any other value nothing is known.
        left: its value for the left side of the patient.
        right: its value for the right side.
        reason: why the middle of the image parts the sides, for people.
        evidence: URL, DOI or title that shows it.
    """

    fact: str
    left: str
    right: str
    reason: str
    evidence: str


def parse_enclosed(table: TomlTable, concepts: Collection[str]) -> Enclosed:
    """Read ``[enclosed]``; both of its parts are concepts of the card."""
    return Enclosed(
        part=table.text("part", choices=tuple(concepts)),
        by=table.text("by", choices=tuple(concepts)),
        share=table.number("share"),
        reason=table.text("reason"),
        evidence=table.text("evidence"),
    )


def parse_side(table: TomlTable) -> Side:
    """Read ``[side]``."""
    return Side(
        fact=table.text("fact"),
        left=table.text("left"),
        right=table.text("right"),
        reason=table.text("reason"),
        evidence=table.text("evidence"),
    )
