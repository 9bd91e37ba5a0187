"""Word-level diff of two wordings; changes and violated rules of a proposal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from medrcube.ontologies.item_rules import ERROR
from medrcube.review.models import ItemVersion, Proposal, Review
from medrcube.review.wording.option_letters import option_letter
from medrcube.review.wording.proposals import Wording, wording_of

__all__ = [
    "DiffPiece",
    "ProposalChanges",
    "Rewording",
    "TextChange",
    "proposal_changes",
    "rewording_of",
    "text_changes",
]

_WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """Part of a diff: ``same``, ``new`` or ``gone``."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class TextChange:
    """One text of a wording, with its former version."""

    name: str
    pieces: Sequence[DiffPiece]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalChanges:
    """Proposal of a reviewer.

    Attributes:
        flaws: item rules that it violates: rule, level and message of each.
    """

    key: int
    changes: Sequence[TextChange]
    flaws: Sequence[Mapping[str, str]]

    @property
    def broken(self) -> int:
        """Number of violated rules of level error."""
        return sum(flaw["level"] == ERROR for flaw in self.flaws)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewording:
    """Changes of a version relative to its predecessor, and the reason."""

    note: str
    changes: Sequence[TextChange]


def text_changes(old: Wording, new: Wording) -> list[TextChange]:
    """Return the texts that differ between two wordings of an item."""
    pairs = [("Question", old.question, new.question)]
    for place, (before, after) in enumerate(zip(old.options, new.options, strict=False)):
        pairs.append((f"Option {option_letter(place)}", before, after))
    pairs.append(("Key", option_letter(old.key), option_letter(new.key)))
    return [
        TextChange(name, list(_pieces(before, after)))
        for name, before, after in pairs
        if before != after
    ]


def proposal_changes(review: Review, version: ItemVersion) -> ProposalChanges | None:
    """Return the proposal of a review of this version, if any."""
    proposal: Proposal | None = getattr(review, "proposal", None)
    if proposal is None:
        return None
    new = Wording(question=proposal.question, options=tuple(proposal.options), key=proposal.key)
    return ProposalChanges(
        key=proposal.pk, changes=text_changes(wording_of(version), new), flaws=proposal.flaws
    )


def rewording_of(version: ItemVersion) -> Rewording | None:
    """Return the changes to the previous version; ``None`` for the first one."""
    if version.parent is None:
        return None
    changes = text_changes(wording_of(version.parent), wording_of(version))
    return Rewording(note=version.note, changes=changes) if changes else None


def _pieces(before: str, after: str) -> Iterator[DiffPiece]:
    """Yield a word-level diff; spaces belong to the preceding word."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    for kind, start, end, first, last in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            yield DiffPiece("same", "".join(old[start:end]))
            continue
        if end > start:
            yield DiffPiece("gone", "".join(old[start:end]))
        if last > first:
            yield DiffPiece("new", "".join(new[first:last]))
