"""Dataclasses of the review page, as its templates take them."""

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
"""Action -> its key."""


@dataclass(frozen=True, slots=True)
class ChoiceInput:
    """A radio button or checkbox: its field, value and words, and whether it is chosen."""

    name: str
    value: str
    text: str
    chosen: bool
    action: str = ""
    hint: str = ""

    @property
    def key(self) -> str:
        """The key that chooses it; empty without one."""
        return KEYS.get(self.action, "")


@dataclass(frozen=True, slots=True)
class ChoiceGroup:
    """Choices of one field with a question above them."""

    name: str
    legend: str
    choices: Sequence[ChoiceInput]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """The image: its own layer, and the layer with the mark if it may be seen.

    Attributes:
        picture: the image.
        overlay: the same with its mark, or ``None``.
        marked: whether the mark is shown at first.
        deep: whether the original pixels may be looked at.
        closed: whether the image is kept from this reviewer, since it may show who a patient is.
    """

    picture: Asset
    overlay: Asset | None
    marked: bool
    deep: bool = True
    closed: bool = False

    @property
    def shown(self) -> Asset:
        """The image as it is shown at first."""
        return self.overlay if self.marked and self.overlay else self.picture

    @property
    def original(self) -> dict[str, object]:
        """What the viewer needs of the original pixels; empty where it gets none."""
        facts = self.picture.original if self.deep else {}
        return (
            {name: fact for name, fact in facts.items() if name != "slices"}
            | {"count": len(facts["slices"])}
            if facts
            else {}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSheet:
    """An option after the reveal."""

    letter: str
    text: str
    is_key: bool
    is_mine: bool
    facts: Sequence[EvidenceLine]
    conditions: Sequence[str]
    verdicts: ChoiceGroup | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRow:
    """A reason, its letter, the options that it may be about, and whether it acts at once."""

    letter: str
    whole: ChoiceInput
    options: Sequence[ChoiceInput]
    grave: bool


@dataclass(frozen=True, slots=True)
class WordingRow:
    """The field for the new text of an option; ``was`` is what it says now."""

    letter: str
    name: str
    text: str
    was: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingSheet:
    """The fields for another wording; ``was`` and ``old_key`` are what the item says now."""

    question: str
    was: str
    rows: Sequence[WordingRow]
    key: int
    old_key: int
