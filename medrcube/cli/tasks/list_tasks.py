"""``medrcube tasks list``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medrcube.cli.options.shared import Json, SourcePath, Wide
from medrcube.cli.tasks.seen_cards import OfWorkspace, seen_cards

if TYPE_CHECKING:
    from medrcube.taxonomy import Task

__all__ = ["list_tasks"]


def list_tasks(
    source_path: SourcePath = None,
    workspace: OfWorkspace = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """List the tasks.

    Shows for each its level, the facts and images it asks about, and the sources that support it.
    """
    from medrcube.build.open_items.authoring.task_check import sources_of
    from medrcube.console.progress import Reporter
    from medrcube.taxonomy import Task

    reporter = Reporter(json_output=json_output, wide=wide)
    cards = seen_cards(source_path, workspace)
    sources = {task: sources_of(task, cards) for task in Task}
    reporter.table(
        ("task", "short", "level", "form", "asks", "images", "sources"),
        [
            (
                *(task.value, task.abbreviation, task.level.value, task.declaration.form),
                *(" ".join(_asks(task)), " ".join(task.declaration.artefacts)),
                len(sources[task]),
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
                "rule": task.declaration.rule or None,
                "sources": sources[task],
            }
            for task in Task
        ]
    )


def _asks(task: Task) -> list[str]:
    declared = task.declaration
    return [declared.axis] if declared.axis else list(map(str, declared.kinds))
