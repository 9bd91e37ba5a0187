"""Reviewing guidelines of each task, shown beside the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from medrcube.files.toml_reader import read_toml
from medrcube.review.errors import ReviewError
from medrcube.taxonomy import Task
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = ["TaskGuideline", "guideline_of"]

_FIELDS = ("asks", "accept", "refuse")


@dataclass(frozen=True, slots=True)
class TaskGuideline:
    """Guideline of a task in three sentences, none of which depends on an item."""

    task: str
    asks: str
    accept: str
    refuse: str


def guideline_of(task: str) -> TaskGuideline | None:
    """Return the guideline of a task, or ``None``.

    Raises:
        ReviewError: the workspace's ``guidelines.toml`` cannot be used.
    """
    return _guidelines(Path(settings.FOLDER).parent / "guidelines.toml", active_vocabulary()).get(
        task
    )


@cache
def _guidelines(own: Path, _vocabulary: Vocabulary) -> dict[str, TaskGuideline]:
    """Read the guidelines of the tasks, overridden by those of the workspace; cached."""
    guidelines = {task.value: _declared(task) for task in Task}
    if own.is_file():
        guidelines |= _parsed(read_toml(own, ReviewError), str(own))
    return guidelines


def _declared(task: Task) -> TaskGuideline:
    declared = task.declaration.guideline
    return TaskGuideline(
        task=task.value, asks=declared.asks, accept=declared.accept, refuse=declared.refuse
    )


def _parsed(tables: Mapping[str, Any], name: str) -> dict[str, TaskGuideline]:
    for task, table in tables.items():
        if not isinstance(table, dict) or sorted(table) != sorted(_FIELDS):
            raise ReviewError(f"{name}: [{task!r}] needs exactly {', '.join(_FIELDS)}")
        if not all(isinstance(text, str) for text in table.values()):
            raise ReviewError(f"{name}: [{task!r}] holds something that is not text")
    return {task: TaskGuideline(task=task, **table) for task, table in tables.items()}
