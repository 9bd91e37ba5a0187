"""``medrcube tasks show``."""

from __future__ import annotations

from typing import Annotated

import typer

from medrcube.cli.options.shared import SourcePath
from medrcube.cli.tasks.seen_cards import OfWorkspace, seen_cards

__all__ = ["TaskName", "show", "task_names"]


def task_names(incomplete: str) -> list[str]:
    """Names of tasks with this prefix, for shell completion."""
    from medrcube.taxonomy import Task

    return [task.value for task in Task if task.casefold().startswith(incomplete.casefold())]


TaskName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Name or abbreviation of the task.", autocompletion=task_names
    ),
]


def show(name: TaskName, source_path: SourcePath = None, workspace: OfWorkspace = None) -> None:
    """Show a task.

    Prints what it asks, its wordings, and the sources that support it.
    """
    from medrcube.build.open_items.authoring.task_check import sources_of
    from medrcube.build.reference.task_by_task import PASS_CRITERIA
    from medrcube.console.progress import Reporter
    from medrcube.taxonomy import Task
    from medrcube.templates import package_wordings

    cards = seen_cards(source_path, workspace)
    task = Task.parse(name)
    declared = task.declaration
    reporter = Reporter()
    reporter.result(
        f"{task} ({task.abbreviation}), level {task.level}, answer form {declared.form}"
    )
    reporter.result(f"asks {declared.measures}")
    reporter.result(
        f"replies are parsed and scored by the form {declared.form}: passes if "
        f"{PASS_CRITERIA[declared.form]}"
    )
    reporter.result(
        "in a report: "
        + ("as the tasks of the cube" if declared.form == "option" else "a panel of the form")
        + ("" if declared.sets == "none" else "; pairs are scored as sets")
    )
    audits = ", ".join(declared.audits) if declared.rule else "those of all items with options"
    reporter.result(f"audits of a batch: {audits or 'none'}")
    facts = f"the {declared.axis} of an image" if declared.axis else ", ".join(declared.kinds)
    if declared.rule:
        from medrcube.build.open_items.rule_files import rule_path

        reporter.result(f"rule: {rule_path(task)}; sets: {declared.sets}")
        reporter.result(
            f"not asked if a blind answer passes more often than {100 * declared.blind.drop:.0f} "
            f"%; warning above {100 * declared.blind.warn:.0f} %"
        )
    reporter.result(f"facts: {facts}; images: {', '.join(declared.artefacts)}")
    reporter.result(
        f"graphics that would reveal the answer if burnt into an image: {declared.told_by}"
    )
    reporter.result(f"\nExample\n  {' '.join(declared.example.split())}")
    reporter.result("\nWordings")
    wordings = package_wordings()
    for variant in wordings.variants(task):
        reporter.result(f"  {variant}: {wordings.text(task, variant)}")
    reporter.result(f"  values: {', '.join(declared.values) or 'none'}")
    reporter.result(f"\nFor reviewers\n  {declared.guideline.asks}")
    reporter.result(f"  accept if {declared.guideline.accept}")
    reporter.result(f"  refuse if {declared.guideline.refuse}")
    ids = sources_of(task, cards)
    reporter.result(f"\nSources\n  {', '.join(ids) or 'none'}")
