"""``medrcube build``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from medrcube.cli.options.shared import (
    Here,
    Json,
    Roots,
    SourcePath,
    Wide,
    Workers,
    raw_roots,
    source_ids,
)
from medrcube.console.counts import counted
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.build.build_report import BuildReport
    from medrcube.build.execution.local import RenderEngine
    from medrcube.console.progress import Reporter
    from medrcube.sources._framework.contract import Source

__all__ = ["build"]

EngineName = Literal["local", "dask"]


def build(
    directory: Here = Path(),
    source: Roots = None,
    source_path: SourcePath = None,
    engine: Annotated[EngineName, typer.Option(help="Where images are rendered.")] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Running dask scheduler, such as tcp://host:8786."),
    ] = None,
    workers: Workers = 0,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed; overrides that of the workspace.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Item counts to aim at: medrcube, or a TOML file."),
    ] = None,
    switch_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Build this source although the profile excludes it; repeatable.",
            autocompletion=source_ids,
        ),
    ] = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Build images and items from raw data.

    Safe to re-run: resumes, and renders only what changed. --source initializes the workspace if it
    does not exist. Excluded cases are listed with the reason in quarantine.parquet; the exit status
    is 1 if too many cases of a source failed. With --profile, each margin is reported as requested,
    built, and achievable with all known sources.
    """
    from dataclasses import asdict, replace

    from medrcube.build.pipeline import build as run_build
    from medrcube.build.workspace_sources import workspace_sources
    from medrcube.console.progress import Reporter
    from medrcube.sources._framework.layout import check_root
    from medrcube.sources.registry import find_sources, get_source
    from medrcube.workspace import CONFIG, add_source_folders, init_workspace, open_workspace

    reporter = Reporter(json_output=json_output, wide=wide)
    execution = _engine(engine, scheduler, workers, reporter)
    roots = raw_roots(source)
    sources = find_sources(source_path or (), vocabulary=[directory / "vocabulary"])
    for name, root in roots.items():
        check_root(get_source(sources, name).card, root)
    if roots and not (directory / CONFIG).exists():
        init_workspace(directory, _fitting(sources, roots))
        reporter.note(f"wrote {directory / CONFIG}")
    add_source_folders(directory, source_path or ())
    workspace = open_workspace(directory).with_sources(roots)
    settings = workspace.settings
    settings = replace(
        settings,
        seed=settings.seed if seed is None else seed,
        profile=profile or settings.profile,
        switched_on=tuple(switch_on or settings.switched_on),
    )
    workspace = replace(workspace, settings=settings)
    report = run_build(workspace, workspace_sources(workspace), execution, reporter)
    if report.damaged:
        reporter.note(
            f"the build cache was not a valid database; it has been renamed to {report.damaged}"
        )
    _show(report, workspace.root, reporter)
    reporter.data(asdict(report))
    raise typer.Exit(1 if report.failures else 0)


def _fitting(sources: Mapping[str, Source], roots: Mapping[str, Path]) -> dict[str, Path]:
    """The raw roots that fit a layout of their source.

    Raises:
        SourceError: none of them does.
    """
    from medrcube.errors import SourceError
    from medrcube.sources._framework.layout import inspect_copy, require_fit
    from medrcube.sources.registry import get_source

    fitting: dict[str, Path] = {}
    refused: list[str] = []
    for name, root in roots.items():
        try:
            require_fit(inspect_copy(get_source(sources, name).card, root))
            fitting[name] = root
        except SourceError as error:
            refused.append(str(error))
    if not fitting:
        raise SourceError("; ".join(refused))
    return fitting


def _engine(
    name: EngineName, scheduler: str | None, workers: int, reporter: Reporter
) -> RenderEngine:
    from medrcube.build.execution.local import LocalEngine
    from medrcube.build.execution.progress import usable_cores

    if name == "local":
        if scheduler is not None:
            raise MedrcubeError(f"--scheduler {scheduler} needs  --engine dask")
        return LocalEngine(workers or usable_cores())
    from medrcube.build.execution.dask import DaskEngine

    return DaskEngine(scheduler, workers or usable_cores(), reporter.note)


def _show(report: BuildReport, root: Path, reporter: Reporter) -> None:
    from medrcube.build.audit.batch_audit import describe_rules
    from medrcube.build.stages.contradictions import describe_words

    for entry in report.sources:
        reporter.note("; ".join(filter(None, (entry.layout, entry.taken))))
    reporter.table(
        ("source", "cases", "absent", "set aside", "failed", "images", "items", "open items"),
        [
            (
                *(e.source, e.cases, e.absent, e.set_aside, e.failed),
                *(e.pictures, e.items, e.open_items),
            )
            for e in report.sources
        ],
    )
    _show_missing_files(report, root, reporter)
    reporter.result(
        f"{counted(report.rendered, 'case')} rendered, {report.reused:,} unchanged, in "
        f"{report.seconds:.1f} s; reasons for everything set aside or failed: "
        f"{root / 'quarantine.parquet'}"
    )
    _show_reasons(report, reporter)
    for pair in report.shared:
        reporter.note(f"not independent: {pair}")
    if report.profile is not None:
        reporter.table(*report.profile.table())
        for line in report.profile.lines():
            reporter.result(line)
    audit = json.loads((root / "audit.json").read_text(encoding="utf-8"))
    for line in (*describe_words(audit), *describe_rules(audit)):
        reporter.result(line)
    if report.llm is not None:
        reporter.result(report.llm.describe())
    for line in report.viewer.lines() if report.viewer is not None else ():
        reporter.result(line)
    for warning in report.warnings:
        reporter.result(f"WARNING {warning}")
    for failure in report.failures:
        reporter.result(f"FAILED {failure}")


def _show_reasons(report: BuildReport, reporter: Reporter) -> None:
    for entry in filter(lambda entry: entry.is_poor, report.sources):
        for reason in entry.reasons:
            reporter.result(f"{entry.source}: set aside or failed: {reason}")


def _show_missing_files(report: BuildReport, root: Path, reporter: Reporter) -> None:
    for entry in report.sources:
        for older in entry.older:
            reporter.result(f"OLDER EDITION {entry.source}: {older}")
        if entry.absent:
            names = ", ".join(entry.absent_first)
            rest = entry.absent - len(entry.absent_first)
            more = f" and {rest:,} more" if rest else ""
            reporter.result(
                f"{entry.source}: not in this copy: {names}{more}; full list: {root / 'absent.csv'}"
            )
