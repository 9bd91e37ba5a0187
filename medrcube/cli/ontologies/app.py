"""The application ``medrcube ontologies``: your copies of HPO, RadLex and ICD-11 in one index."""

from __future__ import annotations

from collections.abc import Callable

import typer

from medrcube.cli.examples import examples
from medrcube.cli.ontologies.check import check
from medrcube.cli.ontologies.index import index
from medrcube.cli.ontologies.search import search
from medrcube.cli.ontologies.show import show
from medrcube.cli.ontologies.statements import STATEMENTS

__all__ = ["ontologies_app"]

ontologies_app = typer.Typer(
    help="Index your own HPO, RadLex and ICD-11 files. medrcube ships none of them."
    f"\n\n{STATEMENTS}",
    no_args_is_help=True,
)
ontologies_app.command(epilog=f"{examples('ontologies index')}\n\n{STATEMENTS}")(index)
_COMMANDS: tuple[Callable[..., None], ...] = (search, show, check)
for command in _COMMANDS:
    ontologies_app.command()(command)
