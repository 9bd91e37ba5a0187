"""The application ``medrcube tasks``: the tasks of the benchmark."""

from __future__ import annotations

import typer

from medrcube.cli.tasks.check import check
from medrcube.cli.tasks.list_tasks import list_tasks
from medrcube.cli.tasks.new import new
from medrcube.cli.tasks.show import show

__all__ = ["tasks_app"]

tasks_app = typer.Typer(help="List, check and add tasks.", no_args_is_help=True)
tasks_app.command("list")(list_tasks)
for command in (show, new, check):
    tasks_app.command()(command)
