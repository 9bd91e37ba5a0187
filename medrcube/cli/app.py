"""The command line. A part is imported inside the command that needs it, so help is instant."""

from __future__ import annotations

import json
import os
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli.compare import compare
from medrcube.cli.endings import INTERRUPTED, end_in_error, end_interrupted
from medrcube.cli.errata import errata_app
from medrcube.cli.evaluate import evaluate
from medrcube.cli.export import export
from medrcube.cli.import_run import import_run
from medrcube.cli.ontologies import ontologies_app
from medrcube.cli.options.shared import EngineName, Extra, Json, Roots, Workers, pairs
from medrcube.cli.reconstruct import reconstruct
from medrcube.cli.review import review_app
from medrcube.cli.score import report, score
from medrcube.cli.site import site, validate_run
from medrcube.cli.sources import sources_app
from medrcube.cli.validate import validate
from medrcube.console.counts import counted
from medrcube.errors import MedrcubeError, MissingExtraError
from medrcube.files.atomic import OTHERS_WRITE
from medrcube.names import escape_controls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from medrcube.build.execution.local import RenderEngine
    from medrcube.build.pipeline import BuildReport
    from medrcube.console.progress import Reporter
    from medrcube.sources._framework.contract import Source

app = typer.Typer(
    name="medrcube",
    help="Rebuild, extend and run medical-imaging benchmarks for multimodal models.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(sources_app, name="sources")
app.add_typer(ontologies_app, name="ontologies")
app.add_typer(review_app, name="review")
app.add_typer(errata_app, name="errata")

EXTRA_OF = {
    **dict.fromkeys(
        (
            *("av", "deflate", "h5py", "nibabel", "numpy", "openpyxl", "pandas", "PIL"),
            *("pyarrow", "pydicom", "scipy", "SimpleITK", "xlrd"),
        ),
        "build",
    ),
    "distributed": "dask",
    **dict.fromkeys(("oxrdflib", "pronto", "pyoxigraph", "rdflib"), "ontologies"),
    **dict.fromkeys(("aiohttp", "httpx2", "openai"), "evaluate"),
    **dict.fromkeys(
        (
            *("argon2", "authlib", "cryptography", "csp", "django", "django_otp", "joserfc"),
            *("requests", "segno", "waitress", "whitenoise", "zxcvbn"),
        ),
        "review",
    ),
    "psycopg": "postgresql",
    "great_expectations": "validate",
    **dict.fromkeys(("num2words", "torch", "torchvision", "transformers"), "local"),
}


def main() -> None:
    """Run the command line; errors that a user can mend are shown without a traceback.

    Nobody but the owner may write what a command makes, also where the umask would let them.
    """
    os.umask(os.umask(OTHERS_WRITE) | OTHERS_WRITE)
    try:
        app()
    except MedrcubeError as error:
        end_in_error(escape_controls(str(error)), error.exit_code)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in EXTRA_OF:
            raise
        missing = MissingExtraError(name, _extra_of(name, error))
        end_in_error(escape_controls(str(missing)), missing.exit_code)
    except KeyboardInterrupt as stop:
        end_interrupted(stop)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # what typer makes of it
            end_interrupted(end)
        raise


@app.command()
def demo(
    directory: Annotated[Path, typer.Argument(help="Folder to make.")] = Path("demo"),
    source: Annotated[
        list[str] | None, typer.Option("--only", help="Only this source; may be repeated.")
    ] = None,
    workers: Workers = 0,
) -> None:
    """Everything, on generated raw data of every source: build, release, evaluate, report."""
    from medrcube.console.progress import Reporter
    from medrcube.demo import run_demo

    reporter = Reporter()
    page = run_demo(directory, reporter, only=source, workers=workers)
    reporter.result(f"report: {page}")


@app.command()
def init(directory: Annotated[Path, typer.Argument()] = Path()) -> None:
    """Make a workspace: a folder with a commented medrcube.toml."""
    from medrcube.console.progress import Reporter
    from medrcube.workspace import CONFIG, init_workspace

    workspace = init_workspace(directory)
    Reporter().result(f"made {workspace.root / CONFIG}; name your raw folders in it")


@app.command()
def build(
    directory: Annotated[Path, typer.Argument(metavar="WORKSPACE")] = Path(),
    source: Roots = None,
    extra: Extra = None,
    engine: Annotated[EngineName, typer.Option(help="Where pictures are rendered.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDR", help="Running dask scheduler, tcp://host:8786.")
    ] = None,
    workers: Workers = 0,
    seed: Annotated[int | None, typer.Option(help="Replaces the seed of the workspace.")] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Counts to aim at: medrcube, or FILE.toml of your own."),
    ] = None,
    switch_on: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Source that the profile leaves out; may be repeated."),
    ] = None,
    json_output: Json = False,
) -> None:
    """Turn raw data into pictures and items; the same command again goes on or does nothing."""
    from dataclasses import asdict, replace

    from medrcube.build.pipeline import build as run_build
    from medrcube.build.workspace_sources import workspace_sources
    from medrcube.console.progress import Reporter
    from medrcube.sources._framework.layout import check_root
    from medrcube.sources.registry import find_sources, get_source
    from medrcube.workspace import CONFIG, add_source_folders, init_workspace, open_workspace

    reporter = Reporter(json_output=json_output)
    where = _engine(engine, scheduler, workers)
    roots = {name: Path(root).absolute() for name, root in pairs(source).items()}
    found = find_sources(extra or ())
    for name, root in roots.items():
        check_root(get_source(found, name).card, root)
    if roots and not (directory / CONFIG).exists():
        init_workspace(directory, _fitting(found, roots))
        reporter.note(f"made {directory / CONFIG}")
    add_source_folders(directory, extra or ())
    workspace = open_workspace(directory).with_sources(roots)
    settings = workspace.settings
    settings = replace(
        settings,
        seed=settings.seed if seed is None else seed,
        profile=profile or settings.profile,
        switched_on=tuple(switch_on or settings.switched_on),
    )
    workspace = replace(workspace, settings=settings)
    report = run_build(workspace, workspace_sources(workspace), where, reporter)
    if report.damaged:
        reporter.note(f"the build cache was no database; it was renamed to {report.damaged}")
    _show_build(report, workspace.root, reporter)
    reporter.data(asdict(report))
    raise typer.Exit(1 if report.failures else 0)


@app.command()
def release(
    directory: Annotated[Path, typer.Argument(metavar="WORKSPACE")],
    out: Annotated[Path, typer.Argument(help="Folder to make.")],
    name: Annotated[str, typer.Option(help="Version of the release.")] = "unnamed",
    allow_unreviewed: Annotated[
        bool, typer.Option("--allow-unreviewed", help="Take items that nobody has accepted.")
    ] = False,
    require_agreement: Annotated[
        bool,
        typer.Option("--require-agreement", help="Refuse where reviewers agree too little."),
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="Keep restricted pictures; never share the tree.")
    ] = False,
    since: Annotated[
        Path | None,
        typer.Option(metavar="OLD", help="Earlier release; CHANGES.md says what changed since."),
    ] = None,
    extra: Extra = None,
    json_output: Json = False,
) -> None:
    """Write a release tree that upstream's evaluator reads unchanged."""
    from dataclasses import asdict

    from medrcube.build.release.write import release as write_release
    from medrcube.build.workspace_sources import workspace_sources
    from medrcube.console.progress import Reporter
    from medrcube.workspace import open_workspace

    reporter = Reporter(json_output=json_output)
    workspace = open_workspace(directory)
    report = write_release(
        workspace,
        workspace_sources(workspace, extra or ()),
        out,
        name=name,
        allow_unreviewed=allow_unreviewed,
        private=private,
        require_agreement=require_agreement,
        since=since,
    )
    reporter.result(
        f"{counted(report.items, 'item')}, {counted(report.pictures, 'picture')}, "
        f"{report.withheld:,} withheld, {report.unreviewed:,} unreviewed: {report.out}"
    )
    for stratum in report.failing_strata:
        reporter.result(f"NOT AGREED {stratum}")
    if report.held:
        reporter.result(
            f"{counted(report.held, 'item')} left out, against which clinicians have spoken"
        )
    if report.changed:
        reporter.result(
            f"{counted(report.changed, 'item')} built anew since the review: import again"
        )
    told = {**asdict(report), "out": str(report.out)}
    if (changes := report.since) is not None:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in changes.counts.items())
        reporter.result(
            f"since {since}: {counted(changes.same, 'item')} the same; {kinds or 'no change'}"
        )
        if changes.still_there:
            reporter.result(
                f"STILL THERE {counted(len(changes.still_there), 'item')} withdrawn from {since}, "
                f"such as {changes.still_there[0]}"
            )
        told["since"] = {
            "same": changes.same,
            "counts": dict(changes.counts),
            "withdrawn_and_still_there": list(changes.still_there),
        }
    reporter.data(told)


app.command()(reconstruct)
app.command()(validate)
app.command()(evaluate)
app.command()(score)
app.command()(report)
app.command()(compare)
app.command()(site)
app.command()(validate_run)
app.command()(export)
app.command()(import_run)


def _extra_of(name: str, error: ModuleNotFoundError) -> str:
    """The extra that brings a package to the part of medrcube that misses it."""
    modules = [frame.f_globals["__name__"] for frame, _ in walk_tb(error.__traceback__)]
    if name == "httpx2" and any(module.startswith("medrcube.sources") for module in modules):
        return "get"
    evaluates = any(module.startswith("medrcube.evaluate") for module in modules)
    return "evaluate" if evaluates and EXTRA_OF[name] == "build" else EXTRA_OF[name]


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


def _engine(name: str, scheduler: str | None, workers: int) -> RenderEngine:
    from medrcube.build.execution.local import LocalEngine
    from medrcube.build.execution.progress import usable_cores

    if name == "local":
        if scheduler is not None:
            raise MedrcubeError(f"--scheduler {scheduler} needs  --engine dask")
        return LocalEngine(workers or usable_cores())
    from medrcube.build.execution.dask import DaskEngine

    return DaskEngine(scheduler, workers or usable_cores())


def _show_build(report: BuildReport, root: Path, reporter: Reporter) -> None:
    from medrcube.build.audit.batch_audit import describe_rules
    from medrcube.build.stages.contradictions import describe_words

    for entry in report.sources:
        reporter.note("; ".join(filter(None, (entry.layout, entry.taken))))
    reporter.table(
        ("source", "cases", "absent", "set aside", "failed", "pictures", "items"),
        [
            (e.source, e.cases, e.absent, e.set_aside, e.failed, e.pictures, e.items)
            for e in report.sources
        ],
    )
    _show_lacking(report, root, reporter)
    reporter.result(
        f"{counted(report.rendered, 'case')} rendered, {report.reused:,} unchanged, in "
        f"{report.seconds:.1f} s; reasons for everything set aside or failed: "
        f"{root / 'quarantine.parquet'}"
    )
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
    for failure in report.failures:
        reporter.result(f"FAILED {failure}")


def _show_lacking(report: BuildReport, root: Path, reporter: Reporter) -> None:
    for entry in report.sources:
        for older in entry.older:
            reporter.result(f"OLDER EDITION {entry.source}: {older}")
        if entry.absent:
            named = ", ".join(entry.absent_first)
            more = f" and {left:,} more" if (left := entry.absent - len(entry.absent_first)) else ""
            reporter.result(
                f"{entry.source}: not in this copy: {named}{more}; all by name: "
                f"{root / 'absent.csv'}"
            )
