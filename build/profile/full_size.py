"""Full size: computed yields of all sources compared with the margins of a profile.

Uses the figures of ``yields`` for complete datasets, whether a workspace has them or not. Sources
that the profile switches off contribute nothing; neither do counts that no card states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medrcube.build.profile.margin_fit import Supply, reachable_items
from medrcube.build.profile.profile import Profile
from medrcube.build.profile.yields import ExpectedItems, expected_items, expected_together
from medrcube.build.questions.sampling.quotas import AnswerCell
from medrcube.console.counts import counted
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Task, Voxel

__all__ = ["BASIS", "FullSize", "expected_margins", "full_size_of", "reachable_at_full_size"]

_WHOLE = 1e-6
"""Tolerance for rounding errors in sums of fractions."""

BASIS = "upper bounds by the image counts of the cards; unknown counts are taken as zero"
"""Basis of the figures, in words."""

Expectations = Mapping[str, Mapping[Task, ExpectedItems]]
"""Source -> task -> its expected items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FullSize:
    """Combined yield of all sources compared with a profile, ready for JSON except for the margins.

    Attributes:
        sources: number of known sources that the profile does not switch off.
        unknown: number of fields, in the tasks used, whose images no card counts.
        items: most items towards the profile, within all margins at once.
        basis: basis of the figures, in words.
    """

    sources: int
    unknown: int
    items: int
    basis: str = BASIS

    def describe(self, target: int) -> str:
        """One line for display, which explains the column "all sources"."""
        return (
            f"all sources at full size ({self.sources:,}, without those switched off): "
            f"{self.items:,} of {target:,} items ({100 * self.items / target:.1f} %) within all "
            "margins; "
            f"{self.basis} ({counted(self.unknown, 'field')})"
        )


def full_size_of(
    cards: Sequence[Card], profile: Profile
) -> tuple[FullSize, Mapping[tuple[str, str], int]]:
    """Return the combined yield of all cards, and what they contribute to each (axis, value)."""
    on = [card for card in cards if card.id not in profile.off]
    expectations = {card.id: expected_items(card) for card in on}
    whole = FullSize(
        sources=len(on),
        unknown=sum(
            len(entry.unknown)
            for tasks in _profile_expectations(on, expectations, profile).values()
            for entry in tasks.values()
        ),
        items=reachable_at_full_size(on, expectations, profile),
    )
    return whole, expected_margins(on, expectations, profile)


def reachable_at_full_size(
    cards: Sequence[Card], expectations: Expectations, profile: Profile
) -> int:
    """Return the most items towards a profile that all cards' yields allow, within margins."""
    cells = _cells(cards, expectations, profile)
    whole = {cell: int(items + _WHOLE) for cell, items in cells.items()}
    supply = Supply(cells=whole, lots={AnswerCell(cell): count for cell, count in whole.items()})
    return int(reachable_items(profile, supply) + _WHOLE)


def expected_margins(
    cards: Sequence[Card], expectations: Expectations, profile: Profile
) -> dict[tuple[str, str], int]:
    """Return (axis, value) of each margin -> items that all sources together contribute."""
    sums = {(axis, value): 0.0 for axis, counts in profile.margins.items() for value in counts}
    for cell, items in _cells(cards, expectations, profile).items():
        for bound in profile.bounds(cell):
            sums[bound] += items
    return {bound: int(items + _WHOLE) for bound, items in sums.items()}


def _cells(
    cards: Sequence[Card], expectations: Expectations, profile: Profile
) -> dict[Voxel, float]:
    """Return the number of items in each cell that the profile wants."""
    cards_by_id = {card.id: card for card in cards}
    cells: dict[Voxel, float] = {}
    for (name, task), items in expected_together(
        _profile_expectations(cards, expectations, profile)
    ).items():
        cell = _cell(cards_by_id[name], task)
        cells[cell] = cells.get(cell, 0.0) + items
    return cells


def _profile_expectations(
    cards: Sequence[Card], expectations: Expectations, profile: Profile
) -> Expectations:
    """Return what the profile uses of each source; the rest makes no room for two-option items."""
    return {
        card.id: {
            task: entry
            for task, entry in expectations[card.id].items()
            if profile.wants(_cell(card, task))
        }
        for card in cards
        if card.id not in profile.off
    }


def _cell(card: Card, task: Task) -> Voxel:
    """Return the cell; a source of two regions or modalities counts under its first."""
    return Voxel(card.anatomy, card.modality, task)
