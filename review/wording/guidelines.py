"""Reviewing guidelines of each task, shown beside the question."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings

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
        guidelines |= _parsed(own.read_text(encoding="utf-8"), str(own))
    return guidelines


def _declared(task: Task) -> TaskGuideline:
    declared = task.declaration.guideline
    return TaskGuideline(
        task=task.value, asks=declared.asks, accept=declared.accept, refuse=declared.refuse
    )


def _parsed(text: str, name: str) -> dict[str, TaskGuideline]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ReviewError(f"{name}: {error}") from error
    for task, table in tables.items():
        if not isinstance(table, dict) or sorted(table) != sorted(_FIELDS):
            raise ReviewError(f"{name}: [{task!r}] needs exactly {', '.join(_FIELDS)}")
        if not all(isinstance(text, str) for text in table.values()):
            raise ReviewError(f"{name}: [{task!r}] holds something that is not text")
    return {task: TaskGuideline(task=task, **table) for task, table in tables.items()}
