"""Two-option quota: bounds the share of items with only two options per task.

A guess is right half of the time in such an item, so a task full of them separates models poorly
(Haladyna, Downing and Rodriguez 2002, doi:10.1207/S15324818AME1503_5: as many effective options as
possible; three are usually adequate).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import zip_longest

from medrcube.build.questions.item_table import ChoiceItem
from medrcube.ontologies.distractor_selection import seeded_tiebreak

__all__ = ["TWO_OPTIONS", "limit_two_option_items"]

TWO_OPTIONS = "two options, beyond two_option_share"
"""Reason under which items in excess of the quota are counted."""

_Unit = tuple[ChoiceItem, ...]


def limit_two_option_items(
    items: Sequence[ChoiceItem], share: float, seed: int
) -> tuple[ChoiceItem, ...]:
    """Drop two-option items until they are at most ``share`` of each task.

    Cells of the cube that no other item reaches are kept first; then cells take turns, and in each
    of them the sets of options. The first two items kept of each set have different keys if
    possible. Otherwise the choice is random. The order is kept.

    Args:
        items: items of all tasks.
        share: largest share, 0 to 1; 1 keeps all.
        seed: decides the random choices.
    """
    tasks: dict[str, list[ChoiceItem]] = {}
    for item in items:
        tasks.setdefault(item.task, []).append(item)
    kept_ids: set[str] = set()
    for members in tasks.values():
        two = [item for item in members if len(item.options) == 2]
        more = len(members) - len(two)
        kept_ids.update(item.id for item in members if len(item.options) != 2)
        room = len(two) if share >= 1 else int(share / (1 - share) * more + 1e-9)
        reached = {_cell(item) for item in members if len(item.options) > 2}
        for unit in _turns(two, reached, seed):
            if len(unit) <= room:
                room -= len(unit)
                kept_ids.update(item.id for item in unit)
    return tuple(item for item in items if item.id in kept_ids)


def _cell(item: ChoiceItem) -> tuple[str, str]:
    return (item.anatomy, item.modality)


def _turns(
    items: Sequence[ChoiceItem], reached: Container[tuple[str, str]], seed: int
) -> list[_Unit]:
    """Return units of items that are kept together, in order of priority."""
    cells: dict[tuple[str, str], dict[tuple[str, ...], list[ChoiceItem]]] = {}
    for item in sorted(items, key=lambda item: seeded_tiebreak(seed, item.id)):
        names = (item.source, item.block, *sorted(option.text for option in item.options))
        cells.setdefault(_cell(item), {}).setdefault(names, []).append(item)
    queues = {
        cell: _alternate([_units(members) for _, members in sorted(sets.items())])
        for cell, sets in sorted(cells.items())
    }
    first = [queue[0] for cell, queue in queues.items() if cell not in reached]
    rest = [queue[cell not in reached :] for cell, queue in queues.items()]
    return [*first, *_alternate(rest)]


def _units(items: Sequence[ChoiceItem]) -> list[_Unit]:
    """Split into units: first a pair with different keys, then single items; boxes stay single."""
    first = items[0]
    other = next((item for item in items if item.concept != first.concept), None)
    if other is None:
        return [(item,) for item in items]
    rest = [item for item in items if item.id not in (first.id, other.id)]
    return [(first, other), *((item,) for item in rest)]


def _alternate(queues: Sequence[Sequence[_Unit]]) -> list[_Unit]:
    """Interleave: the first of each queue, then the second of each, and so on."""
    return [unit for row in zip_longest(*queues) for unit in row if unit is not None]
