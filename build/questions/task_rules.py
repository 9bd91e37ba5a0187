"""Rules of the tasks: which kind of fact on which kind of image each asks about."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from medrcube.fact_kind import FactKind
from medrcube.taxonomy import Task
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = ["FactRule", "fact_rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRule:
    """Rule that a task asks about a kind of fact on a kind of image.

    Attributes:
        task: the task.
        kind: kind of fact; ``None`` if the task asks about an axis of the cube, which needs no
            field.
        artefact: kind of image.
    """

    task: Task
    kind: FactKind | None
    artefact: str


def fact_rules(tasks: Collection[Task]) -> tuple[FactRule, ...]:
    """Return the rules of some tasks, in the order of the taxonomy."""
    return _fact_rules(frozenset(tasks), active_vocabulary())


@lru_cache(maxsize=256)
def _fact_rules(tasks: frozenset[Task], _vocabulary: Vocabulary) -> tuple[FactRule, ...]:
    return tuple(
        FactRule(task=task, kind=kind, artefact=artefact)
        for task in Task
        if task in tasks and not task.declaration.rule
        for kind in (map(FactKind, task.declaration.kinds) if task.declaration.kinds else (None,))
        for artefact in task.declaration.artefacts
    )
