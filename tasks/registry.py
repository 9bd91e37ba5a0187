"""Registry of tasks: the folders of a layer of the vocabulary that hold a ``task.toml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from medrcube.tasks.declaration import TaskDeclaration, TaskError, load_task, parse_task
from medrcube.vocabulary.layers import PACKAGE, Layer

__all__ = ["layer_tasks"]


def layer_tasks(layer: Layer, levels: Sequence[str]) -> list[TaskDeclaration]:
    """The tasks of one layer: of folders by level and by their place in it, then those of words.

    Args:
        layer: the layer.
        levels: names of all levels, the lowest first.

    Raises:
        TaskError: a declaration is wrong.
    """
    folder = Path(__file__).parent if layer is PACKAGE else layer.tasks
    paths = sorted(folder.glob("*/task.toml")) if folder else []
    tasks = [load_task(path.parent, levels) for path in paths]
    tasks.sort(key=lambda task: (levels.index(task.level), task.place, task.name))
    words = layer.words.get("task", [])
    if not isinstance(words, list) or not all(isinstance(word, Mapping) for word in words):
        raise TaskError(f"{layer.name}: key 'task': expected a list of tables, found {words!r}")
    return [*tasks, *(parse_task(Path(layer.name), word, levels) for word in words)]
