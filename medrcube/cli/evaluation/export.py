"""``medrcube export``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from medrcube.cli.options.runs import each_once, look_at_errata
from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.questions.conditions import Condition

__all__ = ["export"]

Form = Literal["vlmevalkit", "lmms-eval", "lm-eval", "inspect", "csv", "latex", "hub"]


def export(
    places: Annotated[
        list[Path],
        typer.Argument(
            metavar="RELEASE|RUN",
            help="A release or a scored run; csv and latex accept several runs.",
        ),
    ],
    to: Annotated[
        Form,
        typer.Option(
            help="Release: vlmevalkit, lmms-eval, lm-eval, inspect (task), csv (items), hub "
            "(private edition). Runs: inspect (log of one run), csv (all tables), latex (tables)."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="Output folder; a file for the items of a release (.csv) or the log of a run "
            "(.json, .eval).",
        ),
    ],
    private: Annotated[
        bool,
        typer.Option("--private", help="Include restricted images; never share the folder."),
    ] = False,
    condition: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Run only: full, blind, circular, image-swap or reworded."
        ),
    ] = None,
    release: Annotated[
        Path | None,
        typer.Option(
            metavar="RELEASE", help="Runs only: release they were evaluated on; applies its errata."
        ),
    ] = None,
) -> None:
    """Export a release or runs to other tools."""
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.runner.run_folder import MANIFEST

    reporter = Reporter()
    runs = [place for place in places if (place / MANIFEST).exists()]
    if runs and len(runs) < len(places):
        other = next(place for place in places if place not in runs)
        raise WorkspaceError(f"{other} is not a run; expected scored runs only, or one release")
    if release is not None and not runs:
        raise WorkspaceError("--release is for runs; a release has its own errata")
    if runs:
        look_at_errata(runs, release, reporter)
        _export_runs(runs, to, out, _condition(condition), reporter)
    elif len(places) > 1:
        raise WorkspaceError(f"{places[0]} is not a run; export one release at a time")
    else:
        _export_release(places[0], to, out, reporter, private=private)


def _export_runs(
    runs: Sequence[Path], to: Form, out: Path, condition: Condition | None, reporter: Reporter
) -> None:
    if to == "inspect":
        from medrcube.evaluate.exports.inspect_run import export_inspect
        from medrcube.evaluate.stored_scores import withdrawn_items

        if len(runs) > 1:
            raise WorkspaceError(f"{runs[1]} is a second run; an Inspect log holds one run")
        count = export_inspect(runs[0], out, condition)
        if gone := withdrawn_items(runs[0]):
            reporter.result(
                f"left out {counted(len(gone), 'item')} withdrawn by the errata of the release"
            )
        reporter.result(f"wrote {out}: {count:,} samples")
        return
    if to not in {"csv", "latex"}:
        raise WorkspaceError(f"{runs[0]} is a run; {to} needs a release")
    if condition is not None:
        raise WorkspaceError(
            f"--condition applies to the log of a run; {to} exports all conditions"
        )
    from medrcube.evaluate.reporting.data_tables import write_csv_tables
    from medrcube.evaluate.reporting.latex import write_latex
    from medrcube.evaluate.reporting.scored_runs import load_runs

    if out.is_file():
        raise WorkspaceError(f"{out} is a file; {to} export of runs needs a folder")
    loaded = load_runs(each_once(runs, reporter))
    if withdrawn := max(len(run.withdrawn) for run in loaded):
        reporter.result(f"left out up to {counted(withdrawn, 'item')} per run, withdrawn by errata")
    write = write_latex if to == "latex" else write_csv_tables
    for path in write(loaded, out):
        reporter.result(f"wrote {path}")


def _export_release(
    release: Path, to: Form, out: Path, reporter: Reporter, *, private: bool
) -> None:
    from medrcube.cli.options.releases import read_release
    from medrcube.evaluate.exports.csv_table import export_items
    from medrcube.evaluate.exports.export import write_export
    from medrcube.evaluate.exports.selection import select_exportable

    if to == "hub":
        _export_hub(release, out, reporter, private=private)
        return
    if to == "latex":
        raise WorkspaceError(f"{release} is not a run; latex needs the folders of scored runs")
    benchmark = read_release(release)
    if to == "csv":
        if out.suffix != ".csv":
            raise WorkspaceError(f"{out}: expected a file name ending in .csv")
        if benchmark.errata:
            reporter.result(f"{counted(len(benchmark.errata), 'item')} withdrawn; see that column")
        reporter.result(f"wrote {out}: {counted(export_items(benchmark, out), 'item')}")
        return
    if out.suffix in {".json", ".eval"}:
        raise WorkspaceError(
            f"{release} is not a run; a log such as {out} needs the folder of a scored run"
        )
    selection = select_exportable(benchmark, private=private)
    for sentence in selection.left_out():
        reporter.result(sentence)
    path = write_export(selection, out, to)
    reporter.result(f"wrote {path}: {counted(len(selection.items), 'item')}")
    if selection.private:
        reporter.result(f"{out} contains restricted images; never share it")


def _export_hub(release: Path, out: Path, reporter: Reporter, *, private: bool) -> None:
    from medrcube.build.release.editions.hugging_face_private import write_private_hub
    from medrcube.build.release.editions.private_edition import PRIVATE, RESTRICTED_SUMS

    if not private and (release / PRIVATE).exists():
        raise WorkspaceError(
            f"{release} contains restricted images (see {PRIVATE}) and must not be uploaded; for "
            f"the public edition, remove {PRIVATE} and the files listed in {RESTRICTED_SUMS}; for "
            f"the edition with restricted images, add --private"
        )
    if not private:
        raise WorkspaceError(
            f"{release} is already the public edition for the hub, ready to upload; add --private "
            f"for the edition with restricted images"
        )
    edition = write_private_hub(release, out)
    if edition.withdrawn:
        reporter.result(
            f"left out {counted(edition.withdrawn, 'item')} withdrawn by the errata of the release"
        )
    if edition.absent:
        reporter.result(
            f"{counted(edition.absent, 'item')} without the restricted image; medrcube "
            "reconstruct  rebuilds it from your own copy of the data"
        )
    reporter.result(f"wrote {out}: {counted(edition.restricted, 'item')} with a restricted image")
    reporter.result(f"{out} is private; never share it, and keep its repository private")


def _condition(name: str | None) -> Condition | None:
    from medrcube.evaluate.questions.conditions import Condition

    try:
        return Condition(name) if name else None
    except ValueError as error:
        names = ", ".join(condition.value for condition in Condition)
        raise WorkspaceError(f"no condition {name!r}; expected one of: {names}") from error
