"""``medrcube tasks list``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medrcube.cli.options.shared import Json, SourcePath, Wide

if TYPE_CHECKING:
    from medrcube.sources._framework.card import Card
    from medrcube.taxonomy import Task

__all__ = ["list_tasks"]


def list_tasks(
    source_path: SourcePath = None, wide: Wide = False, json_output: Json = False
) -> None:
    """List the tasks.

    Each has its level, the facts and images it asks about, and the sources that give it.
    """
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources
    from medrcube.taxonomy import Task

    reporter = Reporter(json_output=json_output, wide=wide)
    cards = [source.card for source in find_sources(source_path or ()).values()]
    reporter.table(
        ("task", "short", "level", "form", "asks", "images", "sources"),
        [
            (
                *(task.value, task.abbreviation, task.level.value, task.declaration.form),
                *(" ".join(_asks(task)), " ".join(task.declaration.artefacts)),
                sum(_gives(card, task) for card in cards),
            )
            for task in Task
        ],
    )
    reporter.data(
        [
            {
                "name": task.value,
                "abbreviation": task.abbreviation,
                "level": task.level.value,
                "form": task.declaration.form,
                "asks": _asks(task),
                "images": list(task.declaration.artefacts),
                "sources": [card.id for card in cards if _gives(card, task)],
            }
            for task in Task
        ]
    )


def _asks(task: Task) -> list[str]:
    declared = task.declaration
    return [declared.axis] if declared.axis else list(map(str, declared.kinds))


def _gives(card: Card, task: Task) -> bool:
    return any(voxel.task == task for voxel in card.voxels)
