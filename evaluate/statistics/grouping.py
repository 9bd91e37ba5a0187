"""Group results along the axes of the cube, in the order of the taxonomy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, TypeVar

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.taxonomy import Anatomy, Level, Modality, Task

__all__ = ["COLUMNS", "Axis", "Member", "grouped"]

Axis = Literal["task", "level", "modality", "parts", "dataset", "visible", "voxel"]
Member = TypeVar("Member")

COLUMNS: Mapping[Axis, tuple[str, ...]] = MappingProxyType(
    {
        "task": ("task",),
        "level": ("level",),
        "modality": ("modality",),
        "parts": ("parts",),
        "dataset": ("dataset",),
        "visible": ("visible",),
        "voxel": ("task", "modality", "parts"),
    }
)
"""Columns that identify a group of each axis."""


def grouped(
    axis: Axis, members: Iterable[Member], item_of: Callable[[Member], BenchmarkItem]
) -> dict[tuple[str, ...], list[Member]]:
    """Return members by group; empty groups are left out.

    Args:
        axis: axis of the groups.
        members: results, pairs, or anything with an item.
        item_of: item of a member.

    Returns:
        Members in order, by the values of ``COLUMNS``; datasets are sorted by name, cells by
        modality, task and region.
    """
    groups: dict[tuple[str, ...], list[Member]] = {}
    of_words: dict[object, list[Member]] = {}
    words_of = _WORDS[axis]
    for member in members:
        item = item_of(member)
        words = words_of(item)
        group = of_words.get(words)
        if group is None:
            key = tuple(_VALUES[name](item) for name in COLUMNS[axis])
            group = of_words[words] = groups.setdefault(key, [])
        group.append(member)
    return {key: groups[key] for key in sorted(groups, key=lambda key: _place(axis, key))}


def _place(axis: Axis, key: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    places = [_place_on(name, value) for name, value in zip(COLUMNS[axis], key, strict=True)]
    return (places[1], places[0], places[2]) if axis == "voxel" else tuple(places)


_VALUES: Mapping[str, Callable[[BenchmarkItem], str]] = {
    "task": lambda item: item.task.value,
    "level": lambda item: item.task.level.value,
    "modality": lambda item: item.modality.value,
    "parts": lambda item: item.parts.value,
    "dataset": lambda item: item.dataset,
    "visible": lambda item: item.visible,
}
_WORDS: Mapping[Axis, Callable[[BenchmarkItem], object]] = {
    "task": attrgetter("task"),
    "level": attrgetter("task"),
    "modality": attrgetter("modality"),
    "parts": attrgetter("parts"),
    "dataset": attrgetter("dataset"),
    "visible": attrgetter("visible"),
    "voxel": attrgetter("task", "modality", "parts"),
}
"""Attributes that determine an item's group, faster to compare than the group itself."""

_ORDER: Mapping[str, Collection[str]] = {
    "task": Task,
    "level": Level,
    "modality": Modality,
    "parts": Anatomy,
    "visible": ("yes", "partly", "no"),
}


def _place_on(column: str, value: str) -> tuple[int, str]:
    """Return the sort position of a value in its column; those without one are sorted by name."""
    order = list(_ORDER.get(column, ()))
    return (order.index(value) if value in order else len(order), value)
