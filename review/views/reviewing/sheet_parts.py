"""Dataclasses for the templates of the review page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medrcube.review.accounts.key_bindings import ACTIONS
from medrcube.review.models import Asset
from medrcube.review.views.reviewing.evidence_text import EvidenceLine

__all__ = [
    "KEYS",
    "ChoiceGroup",
    "ChoiceInput",
    "OptionSheet",
    "Pane",
    "ReasonRow",
    "WordingRow",
    "WordingSheet",
]

KEYS = {action.name: action.key for action in ACTIONS}
"""Action -> key."""


@dataclass(frozen=True, slots=True)
class ChoiceInput:
    """Radio button or checkbox: field, value, label, and whether it is selected."""

    name: str
    value: str
    text: str
    chosen: bool
    action: str = ""
    hint: str = ""

    @property
    def key(self) -> str:
        """Key that selects it; empty without one."""
        return KEYS.get(self.action, "")


@dataclass(frozen=True, slots=True)
class ChoiceGroup:
    """Choices of one field, with a legend."""

    name: str
    legend: str
    choices: Sequence[ChoiceInput]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """Image pane: the image, and its marked version if that may be seen.

    Attributes:
        picture: the image.
        overlay: the image with its mark, or ``None``.
        marked: whether the mark is shown initially.
        deep: whether the original pixels may be viewed.
        closed: whether the image is hidden from this reviewer because it may identify a patient.
    """

    picture: Asset
    overlay: Asset | None
    marked: bool
    deep: bool = True
    closed: bool = False

    @property
    def initial_image(self) -> Asset:
        """Image that is shown initially."""
        return self.overlay if self.marked and self.overlay else self.picture

    @property
    def original(self) -> dict[str, object]:
        """Viewer data of the original pixels; empty if they may not be viewed."""
        facts = self.picture.original if self.deep else {}
        return (
            {name: fact for name, fact in facts.items() if name != "slices"}
            | {"count": len(facts["slices"])}
            if facts
            else {}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSheet:
    """Option after the key is shown."""

    letter: str
    text: str
    is_key: bool
    is_mine: bool
    facts: Sequence[EvidenceLine]
    conditions: Sequence[str]
    verdicts: ChoiceGroup | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRow:
    """Reason: letter, options it may refer to, and whether it takes effect immediately."""

    letter: str
    whole: ChoiceInput
    options: Sequence[ChoiceInput]
    grave: bool


@dataclass(frozen=True, slots=True)
class WordingRow:
    """Field for the new text of an option; ``was`` is the current text."""

    letter: str
    name: str
    text: str
    was: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingSheet:
    """Fields for a proposed wording; ``was`` and ``old_key`` are the current values."""

    question: str
    was: str
    rows: Sequence[WordingRow]
    key: int
    old_key: int
