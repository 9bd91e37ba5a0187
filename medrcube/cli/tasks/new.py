"""``medrcube tasks new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["new"]


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the new task, such as 'Lung Counting'.")
    ],
    into: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of task folders to write into.")
    ] = Path("tasks"),
    rule: Annotated[
        bool,
        typer.Option(
            "--rule", help="With a rule in Python, for questions that no card alone gives."
        ),
    ] = False,
) -> None:
    """Draft a task folder.

    TODO lines mark what needs a human decision.
    """
    from medrcube.build.questions.authoring.task_scaffold import new_task
    from medrcube.console.progress import Reporter

    folder = new_task(name, into, rule=rule)
    Reporter().result(f"wrote {folder}; decide every line marked TODO")
