"""Cells of the cube that depend on one source or one key, for the reference page of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medrcube.build.profile.profile import Profile
from medrcube.build.profile.yields import ExpectedItems
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Task, Voxel, cube_tasks

__all__ = ["CellReach", "reach_of_cells"]

_SOURCES = _KEYS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReach:
    """Sources that reach a cell.

    Attributes:
        cell: region, modality and task.
        keys: source -> number of answers that it may ask about there, sorted by source.
        needed: number of keys that a source needs; one if the cell itself is the answer.
    """

    cell: Voxel
    keys: Mapping[str, int]
    needed: int

    @property
    def why_not(self) -> str:
        """Return why fewer than two sources with enough keys reach the cell; empty if two do."""
        able = [name for name, count in self.keys.items() if count >= self.needed]
        poor = [name for name in self.keys if name not in able]
        if len(able) >= _SOURCES:
            return ""
        if not self.keys:
            return "no source declares this task"
        silent = [name for name in poor if not self.keys[name]]
        single = [name for name in poor if self.keys[name]]
        parts = [f"only {able[0]} has {self.needed} or more keys"] if able and poor else []
        parts += ["one source"] if len(self.keys) == 1 and able else []
        parts += [f"one key in {', '.join(single)}"] if single else []
        parts += [f"nothing that may be asked in {', '.join(silent)}"] if silent else []
        return "; ".join(parts)


def reach_of_cells(
    cards: Sequence[Card],
    expectations: Mapping[str, Mapping[Task, ExpectedItems]],
    profile: Profile,
) -> list[CellReach]:
    """Return every cell that a profile wants, for each region and modality that any source shows.

    The publication counts tasks, modalities and regions, not cells: a pair of region and modality
    without an image in any source is assumed to be empty there too.
    """
    blocks = {(cell.anatomy, cell.modality) for card in cards for cell in card.voxels}
    cells = [
        cell
        for anatomy, modality in sorted(blocks)
        for task in cube_tasks()
        if profile.wants(cell := Voxel(anatomy, modality, task))
    ]
    return [
        CellReach(
            cell=cell,
            keys={
                card.id: len(expectations[card.id][cell.task].keys)
                for card in sorted(cards, key=lambda card: card.id)
                if cell in card.voxels
            },
            needed=1 if cell.task.declaration.axis else _KEYS,
        )
        for cell in cells
    ]
