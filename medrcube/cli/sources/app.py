"""The application ``medrcube sources``: the raw datasets."""

from __future__ import annotations

from collections.abc import Callable

import typer

from medrcube.cli.examples import examples
from medrcube.cli.sources.check import check
from medrcube.cli.sources.count import count
from medrcube.cli.sources.fixture import fixture
from medrcube.cli.sources.get import get
from medrcube.cli.sources.list_sources import list_sources
from medrcube.cli.sources.new import new
from medrcube.cli.sources.page import page
from medrcube.cli.sources.show import show
from medrcube.cli.sources.validate import validate

__all__ = ["sources_app"]

sources_app = typer.Typer(help="List, obtain, validate and add raw datasets.", no_args_is_help=True)
sources_app.command("list", epilog=examples("sources list"))(list_sources)
sources_app.command(epilog=examples("sources get"))(get)
_COMMANDS: tuple[Callable[..., None], ...] = (
    *(show, validate),
    *(new, check, fixture, count, page),
)
for command in _COMMANDS:
    sources_app.command()(command)
