"""The command ``medrcube sources get``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medrcube.cli.options.shared import Extra, Json
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.sources._framework.card import Card
    from medrcube.sources._framework.contract import Source
    from medrcube.sources._homes.protocol import DownloadedFile

_SHOWN = 10
"""Files that are not there of which people are told; programs get all."""


def get(
    name: Annotated[str, typer.Argument(metavar="ID")],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder of the copy.")],
    licence: Annotated[
        str | None,
        typer.Option("--accept-licence", metavar="LICENCE", help="Accept it without a question."),
    ] = None,
    needed: Annotated[
        Path | None,
        typer.Option(metavar="RELEASE", help="Only what the pictures need that it lacks."),
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option("--list", metavar="FILE", help="Only the files of a list, a path a line."),
    ] = None,
    extra: Extra = None,
    json_output: Json = False,
) -> None:
    """Get the raw data of a source from its home; the same command again goes on.

    Archives are left as they are, with the command that unpacks them. Where a home gives its data
    to people alone, the steps are shown. Status 0: all is there; 1: something is not; 2: wrong use.
    """
    from medrcube.console.progress import Reporter
    from medrcube.sources._homes.get import download as bring
    from medrcube.sources._homes.get import unpack_commands
    from medrcube.sources._homes.protocol import DownloadRequest
    from medrcube.sources.registry import find_sources, get_source

    if needed is not None and listed is not None:
        raise MedrcubeError("--needed and --list: give one of them")
    reporter = Reporter(json_output=json_output)
    sources = find_sources(extra or ())
    card = get_source(sources, name).card
    if card.home is None:
        _show_steps(card, to, reporter)
        raise typer.Exit(1)
    wanted = _wanted(name, needed, listed, sources, reporter)
    if wanted is not None and not wanted:
        reporter.note(f"{name}: nothing is wanted")
        return
    _accept(card, licence, reporter)
    done = bring(card, card.home, DownloadRequest(folder=to.absolute(), wanted=wanted), reporter)
    left = unpack_commands(card.home, to, done)
    _show(done, reporter)
    for number, step in enumerate((*(f"Run  {it}" for it in left), *card.home.then), 1):
        reporter.result(f"  {number}. {step}")
    reporter.result(f"then:  medrcube sources validate {card.id} {to}")
    reporter.data(
        {
            "source": card.id,
            "folder": str(to),
            "licence": card.access.licence,
            "files": [asdict(file) for file in done],
            "commands": list(left),
            "then": list(card.home.then),
        }
    )
    raise typer.Exit(0 if all(file.there for file in done) else 1)


def _wanted(
    name: str,
    release: Path | None,
    listed: Path | None,
    sources: Mapping[str, Source],
    reporter: Reporter,
) -> Collection[str] | None:
    if release is not None:
        from medrcube.build.reconstruction.needed_files import needed_files

        lists = [it for it in needed_files(release, sources, reporter) if it.source == name]
        return {file.path for it in lists for file in it.files}
    if listed is not None:
        try:
            lines = listed.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError as error:
            raise MedrcubeError(f"--list {listed}: cannot be read ({error.strerror})") from None
        return {line.removeprefix("./") for line in lines if line.strip()}
    return None


def _accept(card: Card, licence: str | None, reporter: Reporter) -> None:
    """Show the licence, and go on only when the user accepts it.

    Raises:
        MedrcubeError: the user does not, or nobody can be asked.
    """
    access = card.access
    reporter.note(
        f"{card.title}\n{card.homepage}\nlicence: {access.licence}; access: {access.mode}; "
        f"pictures may be passed on: {access.passed_on}\nrights: {access.known()}"
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
        raise MedrcubeError(f"{card.id}: the licence was not accepted; nothing was brought")


def _show_steps(card: Card, to: Path, reporter: Reporter) -> None:
    reporter.result(
        f"{card.id}: no program is known to get it from its home ({card.access.mode}, "
        f"{card.access.licence}):"
    )
    steps = (*card.access.steps, f"Put the data into {to}, so that it holds files like these:")
    for number, step in enumerate(steps, 1):
        reporter.result(f"  {number}. {step}")
    for glob in card.layouts[0].expect:
        reporter.result(f"       {glob}")
    reporter.result(f"then:  medrcube sources validate {card.id} {to}")
    told: dict[str, Any] = {"source": card.id, "folder": str(to), "licence": card.access.licence}
    reporter.data({**told, "files": [], "commands": [], "then": list(card.access.steps)})


def _show(done: Sequence[DownloadedFile], reporter: Reporter) -> None:
    counts = Counter(file.status for file in done)
    reporter.result(", ".join(f"{count:,} {status}" for status, count in counts.items()))
    absent = [file for file in done if not file.there]
    for file in absent[:_SHOWN]:
        reporter.result(
            f"{file.status}  {file.name}: {file.detail or 'the home does not offer it'}"
        )
    if len(absent) > _SHOWN:
        reporter.result(f"and {len(absent) - _SHOWN:,} more; --json names them all")
