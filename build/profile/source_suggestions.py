"""Suggested sources: which cards promise items that a profile still lacks.

A card says which cells of the cube a source reaches and how many images it has, not how many
questions of each answer. The upper bound is used here: every image in each of its cells, all of
different patients, with balanced answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from medrcube.build.profile.margin_fit import GroupAnswer, Supply, reachable_items
from medrcube.build.profile.profile import Profile
from medrcube.build.questions.sampling.quotas import AnswerCell
from medrcube.ontologies.label_words import normalise
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.access import ACCESS_MODES
from medrcube.taxonomy import Modality, Voxel

__all__ = ["SourceSuggestion", "suggest_sources", "suggestion_path", "suggestions_for"]

Bound = tuple[str, str]
"""A value of a margin, as (axis, value)."""

_STEPS = 8
"""Most sources in a suggested path."""

_WHOLE = 1e-6
"""Tolerance for the solver's rounding of integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSuggestion:
    """A source that is not in the workspace and would reduce the distance.

    Attributes:
        source: id of the source.
        access: how it is obtained.
        adds: upper bound of the additional items, if everything its card promises is true.
        cells: cells of the cube that it fills and that lack items.
    """

    source: str
    access: str
    adds: int
    cells: tuple[str, ...]


def suggest_sources(
    profile: Profile, supply: Supply, missing: Mapping[Bound, int], cards: Iterable[Card]
) -> tuple[SourceSuggestion, ...]:
    """Return what each source alone would add to the supply, with all questions reselected."""
    now = reachable_items(profile, supply)
    closers = []
    for card in cards:
        adds = int(reachable_items(profile, supply.beside(_promised_supply(card))) - now + _WHOLE)
        if adds:
            cells = [cell for cell in sorted(card.voxels) if _lack(profile, cell, missing)]
            closers.append(
                SourceSuggestion(
                    source=card.id,
                    access=card.access.mode,
                    adds=adds,
                    cells=tuple(map(str, cells)),
                )
            )
    return tuple(sorted(closers, key=_rank))


def suggestion_path(
    profile: Profile, supply: Supply, closers: Sequence[SourceSuggestion], cards: Mapping[str, Card]
) -> tuple[tuple[str, int], ...]:
    """Return a greedy path: always the source that adds most to the supply so far.

    Gains fall as other sources are added, except for keys that wait for partners, so sources that
    gained less before are evaluated only until one is certain to lead (Minoux 1978).
    """
    now, waiting = reachable_items(profile, supply), list(closers)
    way: list[tuple[str, int]] = []
    while waiting and len(way) < _STEPS:
        fresh: list[tuple[SourceSuggestion, Supply]] = []
        for closer in waiting:
            if fresh and closer.adds <= max(updated.adds for updated, _ in fresh):
                break
            wider = supply.beside(_promised_supply(cards[closer.source]))
            adds = int(reachable_items(profile, wider) - now + _WHOLE)
            fresh.append((replace(closer, adds=adds), wider))
        best, wider = min(fresh, key=lambda entry: _rank(entry[0]))
        if not best.adds:
            break
        way.append((best.source, best.adds))
        supply, now = wider, reachable_items(profile, wider)
        updates = {updated.source: updated for updated, _ in fresh}
        waiting = sorted((updates.get(entry.source, entry) for entry in waiting), key=_rank)
        waiting = [entry for entry in waiting if entry.adds and entry.source != best.source]
    return tuple(way)


def suggestions_for(
    profile: Profile,
    bound: Bound,
    missing: Mapping[Bound, int],
    closers: Iterable[SourceSuggestion],
    cards: Mapping[str, Card],
) -> tuple[tuple[str, int], ...]:
    """Return the sources that have questions for a value, with the most that each adds to it.

    First those that have cells in which no other margin is full; the others make room by taking
    over items now taken from other sources.
    """
    ranked: list[tuple[int, int, str, int]] = []
    for place, closer in enumerate(closers):
        card = cards[closer.source]
        cells = [cell for cell in card.voxels if bound in profile.bounds(cell)]
        room = sum(min(card.images, _lack(profile, cell, missing)) for cell in cells)
        adds = min(missing[bound], room or closer.adds)
        if adds and any(profile.wants(cell) for cell in cells):
            ranked.append((-min(room, adds), place, closer.source, adds))
    return tuple((name, adds) for *_, name, adds in sorted(ranked))


def _promised_supply(card: Card) -> Supply:
    """Return the largest supply a card promises: every image in each cell, each patient new.

    This exceeds the real yield. Only the answer to "which modality" is known beforehand.
    """
    cells = dict.fromkeys(card.voxels, card.images)
    lots: dict[AnswerCell, int] = {}
    names: dict[GroupAnswer, frozenset[str]] = {}
    words = {modality: normalise(load_terms()[modality.concept].name) for modality in Modality}
    for cell in cells:
        lot = AnswerCell(cell)
        if cell.task.declaration.axis == "modality":
            lot = AnswerCell(cell, f"{cell.task.value}|modality", words[cell.modality])
            names[lot.block_group, lot.answer] = frozenset(words.values())
        lots[lot] = card.images
    return Supply(cells=cells, lots=lots, names=names)


def _lack(profile: Profile, cell: Voxel, missing: Mapping[Bound, int]) -> int:
    """Return the most items that a cell can still take."""
    return min((missing.get(bound, 0) for bound in profile.bounds(cell)), default=0)


def _rank(closer: SourceSuggestion) -> tuple[int, int, str]:
    """Sort key: largest gain first, then ease of access."""
    return (-closer.adds, ACCESS_MODES.index(closer.access), closer.source)
