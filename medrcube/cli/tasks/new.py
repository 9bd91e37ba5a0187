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
        Path, typer.Option(metavar="DIR", help="Folder of task folders in which to create it.")
    ] = Path("tasks"),
    rule: Annotated[
        bool,
        typer.Option(
            "--rule", help="Add a Python rule, for questions that need more than the cards."
        ),
    ] = False,
) -> None:
    """Draft a task folder.

    TODO lines mark what needs a human decision.
    """
    from medrcube.build.questions.authoring.task_scaffold import new_task
    from medrcube.console.progress import Reporter

    folder = new_task(name, into, rule=rule)
    Reporter().result(f"wrote {folder}; complete every line marked TODO")
