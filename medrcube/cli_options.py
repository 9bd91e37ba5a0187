"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON object for programs.")]
Extra = Annotated[
    list[Path] | None,
    typer.Option("--sources", help="Folder with further source folders; may be repeated."),
]
Roots = Annotated[
    list[str] | None,
    typer.Option("--source", metavar="ID=ROOT", help="A raw root; may be repeated."),
]
EngineName = Literal["local", "dask"]
Workers = Annotated[int, typer.Option(help="Processes; 0 takes every core.", min=0)]
