"""``medrcube tasks check``."""

from __future__ import annotations

from typing import Annotated

import typer

from medrcube.cli.options.shared import Json, SourcePath
from medrcube.cli.tasks.seen_cards import OfWorkspace, seen_cards
from medrcube.cli.tasks.show import task_names

__all__ = ["check"]


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Tasks; default: all.", autocompletion=task_names),
    ] = None,
    source_path: SourcePath = None,
    workspace: OfWorkspace = None,
    json_output: Json = False,
) -> None:
    """Check tasks against the source cards.

    Runs the contract checks: the declaration, all wordings, and what may be asked.
    """
    from dataclasses import asdict

    from medrcube.build.questions.authoring.task_check import check_task
    from medrcube.console.progress import Reporter
    from medrcube.taxonomy import Task

    reporter = Reporter(json_output=json_output)
    cards = seen_cards(source_path, workspace)
    tasks = list(map(Task.parse, names)) if names else list(Task)
    results = {}
    with reporter.stage("check", len(tasks)) as advance:
        for task in tasks:
            results[task.value] = check_task(task, cards)
            advance()
    broken = 0
    for name, checks in results.items():
        failures = [failure for entry in checks for failure in entry.failures]
        broken += bool(failures)
        reporter.result(f"{name}: {'FAILED' if failures else f'{len(checks)} checks hold'}")
        for failure in failures:
            reporter.result(f"  {failure}")
    reporter.data({name: [asdict(entry) for entry in checks] for name, checks in results.items()})
    raise typer.Exit(1 if broken else 0)
