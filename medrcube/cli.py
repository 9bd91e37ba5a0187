"""The command line. A part is imported inside the command that needs it, so help is instant."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from medrcube.errors import MedrcubeError, MissingExtraError

if TYPE_CHECKING:
    from medrcube.build.engine import Engine
    from medrcube.build.pipeline import BuildReport
    from medrcube.console import Reporter
    from medrcube.sources.contract import Source

app = typer.Typer(
    name="medrcube",
    help="Rebuild, extend and run medical-imaging benchmarks for multimodal models.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
sources_app = typer.Typer(help="The raw datasets that can be built.", no_args_is_help=True)
app.add_typer(sources_app, name="sources")

EXTRA_OF = {
    **dict.fromkeys(
        (
            *("av", "deflate", "h5py", "nibabel", "numpy", "openpyxl", "pandas", "PIL"),
            *("pyarrow", "pydicom", "SimpleITK", "xlrd"),
        ),
        "build",
    ),
    "distributed": "dask",
    "openai": "evaluate",
    "torch": "local",
    "transformers": "local",
}

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


def main() -> None:
    """Run the command line; errors that a user can mend are shown without a traceback."""
    try:
        app()
    except MedrcubeError as error:
        _stop(error)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in EXTRA_OF:
            raise
        _stop(MissingExtraError(name, EXTRA_OF[name]))
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; the same command goes on from here\n")
        sys.exit(3)


@app.command()
def demo(
    directory: Annotated[Path, typer.Argument(help="Folder to make.")] = Path("demo"),
    source: Annotated[
        list[str] | None, typer.Option("--only", help="Only this source; may be repeated.")
    ] = None,
    workers: Workers = 0,
) -> None:
    """Everything, on generated raw data of every source: build, release, evaluate, report."""
    from medrcube.console import Reporter
    from medrcube.demo import run_demo

    reporter = Reporter()
    page = run_demo(directory, reporter, only=source, workers=workers)
    reporter.result(f"report: {page}")


@app.command()
def init(directory: Annotated[Path, typer.Argument()] = Path()) -> None:
    """Make a workspace: a folder with a commented medrcube.toml."""
    from medrcube.console import Reporter
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
    json_output: Json = False,
) -> None:
    """Turn raw data into pictures and items; the same command again goes on or does nothing."""
    from dataclasses import asdict, replace

    from medrcube.build.pipeline import build as run_build
    from medrcube.console import Reporter
    from medrcube.sources.registry import find_sources
    from medrcube.workspace import CONFIG, init_workspace, open_workspace

    reporter = Reporter(json_output=json_output)
    where = _engine(engine, scheduler, workers)
    roots = {name: Path(root).absolute() for name, root in _pairs(source).items()}
    if roots and not (directory / CONFIG).exists():
        init_workspace(directory, roots)
        reporter.note(f"made {directory / CONFIG}")
    workspace = open_workspace(directory).with_sources(roots)
    if seed is not None:
        workspace = replace(workspace, settings=replace(workspace.settings, seed=seed))
    report = run_build(workspace, find_sources(extra or ()), where, reporter)
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
    private: Annotated[
        bool, typer.Option("--private", help="Keep restricted pictures; never share the tree.")
    ] = False,
    extra: Extra = None,
    json_output: Json = False,
) -> None:
    """Write a release tree that upstream's evaluator reads unchanged."""
    from dataclasses import asdict

    from medrcube.build.release import release as write_release
    from medrcube.console import Reporter
    from medrcube.sources.registry import find_sources
    from medrcube.workspace import open_workspace

    reporter = Reporter(json_output=json_output)
    report = write_release(
        open_workspace(directory),
        find_sources(extra or ()),
        out,
        name=name,
        allow_unreviewed=allow_unreviewed,
        private=private,
    )
    reporter.result(
        f"{report.items:,} items, {report.pictures:,} pictures, {report.withheld:,} withheld, "
        f"{report.unreviewed:,} unreviewed: {report.out}"
    )
    reporter.data({**asdict(report), "out": str(report.out)})


@sources_app.command("list")
def list_sources(extra: Extra = None, json_output: Json = False) -> None:
    """List the sources: access, licence, images and tasks."""
    from medrcube.console import Reporter
    from medrcube.sources.registry import find_sources

    reporter = Reporter(json_output=json_output)
    cards = [source.card for source in find_sources(extra or ()).values()]
    reporter.table(
        ("id", "anatomy", "modality", "images", "access", "licence", "tasks"),
        [
            (
                card.id,
                card.anatomy,
                card.modality,
                card.images,
                card.access.mode,
                card.access.licence,
                " ".join(task.abbreviation for task in card.tasks),
            )
            for card in cards
        ],
    )
    reporter.data([_card_summary(source) for source in find_sources(extra or ()).values()])


@sources_app.command()
def show(name: Annotated[str, typer.Argument(metavar="ID")], extra: Extra = None) -> None:
    """Show one source: what it is, how to get it, how its folders must look."""
    from medrcube.console import Reporter
    from medrcube.sources.registry import find_sources, get_source

    card = get_source(find_sources(extra or ()), name).card
    reporter = Reporter()
    reporter.result(f"{card.id}: {card.title}\n{card.homepage}\nversion: {card.release}")
    reporter.result(
        f"access: {card.access.mode}; licence: {card.access.licence}; pictures may be passed on: "
        f"{'yes' if card.access.redistribute else 'no'}"
    )
    reporter.result("\nHow to get it")
    for number, step in enumerate(card.access.steps, 1):
        reporter.result(f"  {number}. {step}")
    reporter.result("\nLayouts")
    for layout in card.layouts:
        reporter.result(f"  {layout.name}")
        for glob, count in layout.expect.items():
            reporter.result(f"    {count:>7,}  {glob}")
    reporter.result("\nTasks: " + ", ".join(card.tasks))
    if card.quirks:
        reporter.result("\nKnown faults")
        for quirk in card.quirks:
            reporter.result(f"  {quirk.action}: {quirk.reason}")
    reporter.result(f"\nCitation\n{card.citation.strip()}")


@sources_app.command()
def verify(
    name: Annotated[str, typer.Argument(metavar="ID")],
    root: Annotated[Path, typer.Argument(help="Your copy of the raw data.")],
    extra: Extra = None,
    json_output: Json = False,
) -> None:
    """Tell which layout a raw tree has and what it lacks."""
    from medrcube.console import Reporter
    from medrcube.sources.layout import verify as verify_layout
    from medrcube.sources.registry import find_sources, get_source

    reporter = Reporter(json_output=json_output)
    report = verify_layout(get_source(find_sources(extra or ()), name).card, root)
    reporter.result(f"{report.describe()} ({report.seconds:.2f} s)")
    reporter.data(
        {
            "source": report.source,
            "layout": report.layout,
            "fits": report.fits,
            "complete": report.complete,
            "missing": report.missing,
            "found": dict(report.found),
            "expected": dict(report.expected),
        }
    )
    raise typer.Exit(0 if report.fits else 1)


@sources_app.command()
def fixture(
    name: Annotated[str, typer.Argument(metavar="ID")],
    directory: Annotated[Path, typer.Argument(help="Folder to make.")],
    layout: Annotated[str | None, typer.Option(help="Which layout; the first by default.")] = None,
    extra: Extra = None,
) -> None:
    """Write a tiny synthetic raw tree in the source's true layout."""
    from medrcube.console import Reporter
    from medrcube.sources.registry import find_sources, get_source

    source = get_source(find_sources(extra or ()), name)
    names = [entry.name for entry in source.card.layouts]
    if layout is not None and layout not in names:
        raise MedrcubeError(f"{name} has no layout {layout!r}; it has {', '.join(names)}")
    if directory.exists() and any(directory.iterdir()):
        raise MedrcubeError(f"{directory}: is not empty; choose a new folder")
    source.build_fixture(directory, layout or names[0])
    Reporter().result(f"wrote {directory}")


@sources_app.command("new")
def new_source_folder(
    name: Annotated[str, typer.Argument(metavar="ID")],
    root: Annotated[Path, typer.Option("--from", metavar="ROOT", help="A raw tree.")],
    into: Annotated[Path, typer.Option(help="Folder of source folders.")] = Path("sources"),
) -> None:
    """Write a first source folder for a raw tree; its TODO lines say what a person decides."""
    from medrcube.console import Reporter
    from medrcube.sources.scaffold import new_source

    folder = new_source(name, root, into)
    Reporter().result(f"wrote {folder}; settle every line that says TODO")


@sources_app.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="[ID...]")] = None,
    extra: Extra = None,
    json_output: Json = False,
) -> None:
    """Hold sources to their contract, on their own synthetic fixtures; all by default."""
    from dataclasses import asdict

    from medrcube.build.check import check_source
    from medrcube.console import Reporter
    from medrcube.sources.registry import find_sources, get_source

    reporter = Reporter(json_output=json_output)
    found = find_sources(extra or ())
    results = {}
    with reporter.stage("check", len(names or found)) as advance:
        for name in names or found:
            results[name] = check_source(get_source(found, name))
            advance()
    broken = 0
    for name, checks in results.items():
        failures = [failure for entry in checks for failure in entry.failures]
        broken += bool(failures)
        reporter.result(f"{name}: {'FAILED' if failures else f'{len(checks)} checks hold'}")
        for failure in failures:
            reporter.result(f"  {failure}")
    reporter.data({name: [asdict(entry) for entry in checks] for name, checks in results.items()})
    raise typer.Exit(1 if broken else 0)


@sources_app.command()
def page(
    directory: Annotated[Path, typer.Argument(help="Folder of the documentation.")],
    extra: Extra = None,
) -> None:
    """Write the reference page of all sources and the picture of the cube."""
    from medrcube.console import Reporter
    from medrcube.files import write_text
    from medrcube.sources.page import cube_picture, sources_page
    from medrcube.sources.registry import find_sources

    cards = [source.card for source in find_sources(extra or ()).values()]
    write_text(directory / "reference" / "sources.md", sources_page(cards))
    write_text(directory / "images" / "cube.svg", cube_picture(cards))
    Reporter().result(f"wrote {directory / 'reference' / 'sources.md'}")


@app.command()
def evaluate(
    directory: Annotated[Path, typer.Argument(metavar="RELEASE")],
    model: Annotated[str, typer.Option(metavar="PROVIDER/NAME")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    api_key_env: Annotated[
        str, typer.Option(help="Environment variable that holds the key.")
    ] = "OPENAI_API_KEY",
    max_connections: Annotated[int, typer.Option(min=1, max=1024)] = 10,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest reply.")] = 4096,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many items.")] = None,
    json_output: Json = False,
) -> None:
    """Run a model over a release; the same command again resumes."""
    from dataclasses import asdict

    from medrcube.console import Reporter
    from medrcube.evaluate.benchmark import load_benchmark
    from medrcube.evaluate.models.registry import ModelSettings, open_model
    from medrcube.evaluate.progress import watch
    from medrcube.evaluate.runner import run_evaluation

    reporter = Reporter(json_output=json_output)
    settings = ModelSettings(base_url=base_url, api_key_env=api_key_env, max_tokens=max_tokens)
    benchmark = load_benchmark(directory)
    with watch(reporter) as on_progress:
        summary = run_evaluation(
            benchmark,
            open_model(model, settings),
            out,
            max_connections=max_connections,
            limit=limit,
            on_progress=on_progress,
        )
    reporter.result(
        f"{summary.asked:,} items: {summary.reused:,} reused, {summary.answered:,} answered, "
        f"{summary.failed:,} failed, {summary.missing:,} without a picture, in "
        f"{summary.seconds:.1f} s: {summary.out}"
    )
    if summary.exit_code:
        reporter.result("INCOMPLETE too many items have no reply; the same command goes on")
    reporter.data({**asdict(summary), "out": str(summary.out)})
    raise typer.Exit(summary.exit_code)


@app.command()
def score(run: Annotated[Path, typer.Argument(help="Folder of a run.")]) -> None:
    """Score the replies of a run again, without a model."""
    from medrcube.console import Reporter
    from medrcube.evaluate.run_folder import METRICS
    from medrcube.evaluate.scoring import score as score_run

    score_run(run)
    Reporter().result(f"wrote {run / METRICS}")


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
    benchmark: Annotated[
        Path | None, typer.Option("--release", help="Release, for example pictures.")
    ] = None,
) -> None:
    """Write one self-contained HTML page about one or several runs."""
    from medrcube.console import Reporter
    from medrcube.evaluate.report import write_report

    write_report(runs, out, benchmark)
    Reporter().result(f"wrote {out}")


def _engine(name: str, scheduler: str | None, workers: int) -> Engine:
    from medrcube.build.engine import LocalEngine, usable_cores

    if name == "local":
        if scheduler is not None:
            raise MedrcubeError(f"--scheduler {scheduler} needs  --engine dask")
        return LocalEngine(workers or usable_cores())
    from medrcube.build.engine_dask import DaskEngine

    return DaskEngine(scheduler, workers or usable_cores())


def _pairs(values: list[str] | None) -> Mapping[str, str]:
    pairs: dict[str, str] = {}
    for value in values or ():
        name, equals, root = value.partition("=")
        if not (name and equals and root):
            raise MedrcubeError(f"--source {value}: expected ID=ROOT, such as busi=/data/BUSI")
        if name in pairs:
            raise MedrcubeError(f"--source {name} is given twice; name each source once")
        pairs[name] = root
    return pairs


def _show_build(report: BuildReport, root: Path, reporter: Reporter) -> None:
    for entry in report.sources:
        reporter.note(entry.layout)
    reporter.table(
        ("source", "cases", "absent", "set aside", "failed", "pictures", "items"),
        [
            (e.source, e.cases, e.absent, e.set_aside, e.failed, e.pictures, e.items)
            for e in report.sources
        ],
    )
    reporter.result(
        f"{report.rendered:,} cases rendered, {report.reused:,} unchanged, in "
        f"{report.seconds:.1f} s; reasons for everything set aside or failed: "
        f"{root / 'quarantine.parquet'}"
    )
    for pair in report.shared:
        reporter.note(f"not independent: {pair}")
    for failure in report.failures:
        reporter.result(f"FAILED {failure}")


def _card_summary(source: Source) -> dict[str, Any]:
    card = source.card
    return {
        "id": card.id,
        "title": card.title,
        "anatomy": card.anatomy,
        "modality": card.modality,
        "images": card.images,
        "access": card.access.mode,
        "licence": card.access.licence,
        "redistribute": card.access.redistribute,
        "layouts": [layout.name for layout in card.layouts],
        "tasks": list(card.tasks),
    }


def _stop(error: MedrcubeError) -> None:
    sys.stderr.write(f"medrcube: {error}\n")
    sys.exit(error.exit_code)
