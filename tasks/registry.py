"""Registry of tasks: the folders of a layer of the vocabulary that hold a ``task.toml``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medrcube.tasks.declaration import TaskDeclaration, load_task
from medrcube.vocabulary.layers import PACKAGE, Layer

__all__ = ["layer_tasks"]


def layer_tasks(layer: Layer, levels: Sequence[str]) -> list[TaskDeclaration]:
    """The tasks of one layer, by level and by their place in it.

    Args:
        layer: the layer.
        levels: names of all levels, the lowest first.

    Raises:
        TaskError: a declaration is wrong.
    """
    folder = Path(__file__).parent if layer is PACKAGE else layer.tasks
    if folder is None:
        return []
    tasks = [load_task(path.parent, levels) for path in sorted(folder.glob("*/task.toml"))]
    return sorted(tasks, key=lambda task: (levels.index(task.level), task.place, task.name))
