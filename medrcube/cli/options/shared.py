"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from medrcube.errors import MedrcubeError

Wide = Annotated[
    bool, typer.Option("--wide", help="Everything, a row in several lines where it does not fit.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object for programs.")]
Extra = Annotated[
    list[Path] | None,
    typer.Option("--source-path", help="Folder with further source folders; may be repeated."),
]
Roots = Annotated[
    list[str] | None,
    typer.Option("--source", metavar="ID=ROOT", help="A raw root; may be repeated."),
]
EngineName = Literal["local", "dask"]
Workers = Annotated[int, typer.Option(help="Processes; 0 takes every core.", min=0)]


def pairs(values: list[str] | None) -> Mapping[str, str]:
    """What ``--source ID=ROOT`` names.

    Raises:
        MedrcubeError: one has another form, or two name one source.
    """
    named: dict[str, str] = {}
    for value in values or ():
        name, equals, root = value.partition("=")
        if not (name and equals and root):
            raise MedrcubeError(f"--source {value}: expected ID=ROOT, such as busi=/data/BUSI")
        if name in named:
            raise MedrcubeError(f"--source {name} is given twice; name each source once")
        named[name] = root
    return named
