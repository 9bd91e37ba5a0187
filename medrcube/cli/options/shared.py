"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from medrcube.errors import MedrcubeError

__all__ = [
    "Directory",
    "Here",
    "Json",
    "ReleaseDir",
    "Roots",
    "SourceId",
    "SourcePath",
    "Wide",
    "Workers",
    "raw_roots",
    "source_ids",
]


def source_ids(incomplete: str) -> list[str]:
    """Ids of sources with this prefix, for shell completion."""
    from medrcube.sources.registry import find_sources

    return [name for name in find_sources() if name.startswith(incomplete)]


Directory = Annotated[Path, typer.Argument(metavar="WORKSPACE", help="Folder of the workspace.")]
Here = Annotated[
    Path,
    typer.Argument(metavar="WORKSPACE", help="Folder of the workspace; default: the current one."),
]
ReleaseDir = Annotated[Path, typer.Argument(metavar="RELEASE", help="Folder of the release.")]
SourceId = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the source.", autocompletion=source_ids)
]
SourcePath = Annotated[
    list[Path] | None,
    typer.Option(
        "--source-path", metavar="DIR", help="Folder with additional source folders; repeatable."
    ),
]
Roots = Annotated[
    list[str] | None,
    typer.Option(
        "--source", metavar="ID=ROOT", help="Source and the root of its raw data; repeatable."
    ),
]
Workers = Annotated[
    int, typer.Option(metavar="N", help="Worker processes; 0: one per core.", min=0)
]
Wide = Annotated[
    bool, typer.Option("--wide", help="Show every column; rows that do not fit become blocks.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]


def raw_roots(values: Sequence[str] | None) -> dict[str, Path]:
    """Raw roots by id, as ``--source ID=ROOT`` names them; absolute.

    Raises:
        MedrcubeError: a value is malformed, or a source is named twice.
    """
    roots: dict[str, Path] = {}
    for value in values or ():
        name, equals, root = value.partition("=")
        if not (name and equals and root):
            raise MedrcubeError(f"--source {value}: expected ID=ROOT, such as busi=/data/BUSI")
        if name in roots:
            raise MedrcubeError(f"--source {name} was given twice; give each source once")
        roots[name] = Path(root).absolute()
    return roots
