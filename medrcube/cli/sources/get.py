"""``medrcube sources get``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medrcube.cli.options.shared import Json, SourceId, SourcePath
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.sources._framework.card import Card
    from medrcube.sources._framework.contract import Source
    from medrcube.sources._homes.protocol import DownloadedFile

__all__ = ["get"]

_LIST_LIMIT = 10
"""Missing files shown without ``-v``."""


def get(
    name: SourceId,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder to download into.")],
    licence: Annotated[
        str | None,
        typer.Option(
            "--accept-licence", metavar="LICENCE", help="Accept this licence without a prompt."
        ),
    ] = None,
    needed: Annotated[
        Path | None,
        typer.Option(
            metavar="RELEASE", help="Only the files needed for images missing from this release."
        ),
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option(
            "--list", metavar="FILE", help="Only the files in this list, one path per line."
        ),
    ] = None,
    source_path: SourcePath = None,
    json_output: Json = False,
) -> None:
    """Download the raw data of an open source.

    Safe to re-run: resumes. Archives are kept packed, and the command that unpacks them is printed.
    If the data cannot be downloaded automatically, the manual steps are shown. The exit status is 1
    while files are missing.
    """
    from medrcube.console.progress import Reporter
    from medrcube.sources._homes.get import download, unpack_commands
    from medrcube.sources._homes.protocol import DownloadRequest
    from medrcube.sources.registry import find_sources, get_source

    if needed is not None and listed is not None:
        raise MedrcubeError("give only one of --needed and --list")
    reporter = Reporter(json_output=json_output)
    sources = find_sources(source_path or ())
    card = get_source(sources, name).card
    if card.home is None:
        _show_steps(card, to, reporter)
        raise typer.Exit(1)
    names = _requested_files(name, needed, listed, sources, reporter)
    if names is not None and not names:
        reporter.note(f"{name}: no files are needed")
        return
    _accept(card, licence, reporter)
    files = download(
        card, card.home, DownloadRequest(folder=to.absolute(), requested_files=names), reporter
    )
    commands = unpack_commands(card.home, to, files)
    _show(files, reporter)
    for number, step in enumerate((*(f"Run  {line}" for line in commands), *card.home.then), 1):
        reporter.result(f"  {number}. {step}")
    reporter.result(f"then:  medrcube sources validate {card.id} {to}")
    reporter.data(
        {
            "source": card.id,
            "folder": str(to),
            "licence": card.access.licence,
            "files": [asdict(file) for file in files],
            "commands": list(commands),
            "then": list(card.home.then),
        }
    )
    raise typer.Exit(0 if all(file.there for file in files) else 1)


def _requested_files(
    name: str,
    release: Path | None,
    listed: Path | None,
    sources: Mapping[str, Source],
    reporter: Reporter,
) -> Collection[str] | None:
    if release is not None:
        from medrcube.build.reconstruction.needed_files import needed_files

        return {
            file.path
            for entry in needed_files(release, sources, reporter)
            if entry.source == name
            for file in entry.files
        }
    if listed is not None:
        try:
            lines = listed.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError as error:
            raise MedrcubeError(f"--list {listed}: cannot be read ({error.strerror})") from None
        return {line.removeprefix("./") for line in lines if line.strip()}
    return None


def _accept(card: Card, licence: str | None, reporter: Reporter) -> None:
    """Show the licence, and continue only if the user accepts it.

    Raises:
        MedrcubeError: the user does not accept it, or there is no terminal to ask in.
    """
    access = card.access
    reporter.note(
        f"{card.title}\n{card.homepage}\nlicence: {access.licence}; access: {access.mode}; "
        f"images may be redistributed: {access.passed_on}\nrights: {access.describe()}"
    )
    if licence is not None:
        if licence != access.licence:
            raise MedrcubeError(
                f"--accept-licence {licence}: the licence of {card.id} is {access.licence}"
            )
        return
    if reporter.json_output or not sys.stdin.isatty():
        raise MedrcubeError(
            f"{card.id}: read the licence at {card.homepage}, then add  --accept-licence "
            f"{access.licence}"
        )
    if not typer.confirm("Do you accept it?", err=True):
        raise MedrcubeError(f"{card.id}: the licence was not accepted; nothing was downloaded")


def _show_steps(card: Card, to: Path, reporter: Reporter) -> None:
    reporter.result(
        f"{card.id}: cannot be downloaded automatically ({card.access.mode}, "
        f"{card.access.licence}):"
    )
    steps = (*card.access.steps, f"Put the data into {to}, so that it contains files such as:")
    for number, step in enumerate(steps, 1):
        reporter.result(f"  {number}. {step}")
    for glob in card.layouts[0].expect:
        reporter.result(f"       {glob}")
    reporter.result(f"then:  medrcube sources validate {card.id} {to}")
    summary: dict[str, Any] = {"source": card.id, "folder": str(to), "licence": card.access.licence}
    reporter.data({**summary, "files": [], "commands": [], "then": list(card.access.steps)})


def _show(files: Sequence[DownloadedFile], reporter: Reporter) -> None:
    counts = Counter(file.status for file in files)
    reporter.result(", ".join(f"{count:,} {status}" for status, count in counts.items()))
    absent = [file for file in files if not file.there]
    for file in absent[: reporter.limit(_LIST_LIMIT)]:
        reporter.result(
            f"{file.status}  {file.name}: {file.detail or 'the home does not offer it'}"
        )
    if more := len(absent) - len(absent[: reporter.limit(_LIST_LIMIT)]):
        reporter.result(f"and {more:,} more; medrcube -v shows all")
