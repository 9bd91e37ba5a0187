"""The commands of ``medrcube sources``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medrcube.cli.options.shared import Extra, Json, Wide
from medrcube.cli.sources_get import get
from medrcube.console.counts import counted
from medrcube.errors import MedrcubeError
from medrcube.facts import BAD_ROW

if TYPE_CHECKING:
    from medrcube.sources._framework.contract import Source

sources_app = typer.Typer(help="The raw datasets that can be built.", no_args_is_help=True)
sources_app.command()(get)


@sources_app.command("list")
def list_sources(extra: Extra = None, wide: Wide = False, json_output: Json = False) -> None:
    """List the sources: access, licence, images and tasks."""
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources

    reporter = Reporter(json_output=json_output)
    cards = [source.card for source in find_sources(extra or ()).values()]
    reporter.table(
        ("id", "anatomy", "modality", "images", "access", "licence", "passed on", "tasks"),
        [
            (
                card.id,
                card.anatomy,
                card.modality,
                card.images,
                card.access.mode,
                card.access.licence,
                card.access.passed_on,
                " ".join(task.abbreviation for task in card.tasks),
            )
            for card in cards
        ],
        clip=not wide,
    )
    reporter.data([_card_summary(source) for source in find_sources(extra or ()).values()])


@sources_app.command()
def show(name: Annotated[str, typer.Argument(metavar="ID")], extra: Extra = None) -> None:
    """Show one source: what it is, how to get it, how its folders must look."""
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources, get_source

    card = get_source(find_sources(extra or ()), name).card
    reporter = Reporter()
    reporter.result(f"{card.id}: {card.title}\n{card.homepage}\nversion: {card.release}")
    reporter.result(
        f"access: {card.access.mode}; licence: {card.access.licence}; pictures may be passed on: "
        f"{card.access.passed_on}"
    )
    reporter.result(f"rights: {card.access.known()}")
    reporter.result("\nHow to get it")
    for number, step in enumerate(card.access.steps, 1):
        reporter.result(f"  {number}. {step}")
    if card.home is not None:
        reporter.result(f"  or:  medrcube sources get {card.id} --to DIR")
    reporter.result("\nLayouts")
    for layout in card.layouts:
        reporter.result(f"  {layout.name}")
        for glob, count in layout.expect.items():
            reporter.result(f"    {count:>7,}  {glob}")
        for glob, told in layout.optional.items():
            if told:
                reporter.result(f"    may lack {glob}, and then has {told}")
    reporter.result("\nTasks: " + ", ".join(card.tasks))
    if card.quirks:
        reporter.result("\nKnown faults")
        for quirk in card.quirks:
            reporter.result(f"  {quirk.action}: {quirk.reason}")
    reporter.result(f"\nCitation\n{card.citation.strip()}")


@sources_app.command()
def validate(
    name: Annotated[str, typer.Argument(metavar="ID")],
    root: Annotated[Path, typer.Argument(help="Your copy of the raw data.")],
    extra: Extra = None,
    json_output: Json = False,
) -> None:
    """Tell which layout a raw tree has, what it lacks, and how many cases its tables yield."""
    from collections import Counter

    from medrcube.build.stages.scan import inspect_tree, scan
    from medrcube.console.progress import Reporter
    from medrcube.sources._framework.layout import compare_layouts
    from medrcube.sources._framework.raw_tree.roots import describe_root
    from medrcube.sources.registry import find_sources, get_source

    reporter = Reporter(json_output=json_output)
    source = get_source(find_sources(extra or ()), name)
    with reporter.stage("files", None) as advance:
        tree = inspect_tree(source, root, advance)
    report = compare_layouts(source.card, tree.seen)
    told = (f"{report.describe()} ({report.seconds:.2f} s)", describe_root(root, report.root))
    reporter.result("; ".join(filter(None, told)))
    cases, codes = 0, Counter[str]()
    if report.fits:
        found = scan(source, tree.root, b"", tree=tree)
        cases = len(found.cases)
        codes.update(problem.code for problem in found.problems)
        codes.update({"absent": len(found.absent)})
        aside = ", ".join(f"{count:,} {code}" for code, count in sorted(codes.items()) if count)
        reporter.result(
            f"{counted(cases, 'case')} with all their files" + (f"; {aside}" if aside else "")
        )
        if not cases:
            reporter.result("nothing would be built of this copy")
        first = next((it.message for it in found.problems if it.code == BAD_ROW), None)
        if first is not None:
            reporter.result(f"first row that cannot be used: {first}")
    reporter.data(
        {
            "source": report.source,
            "root": str(report.root),
            "layout": report.layout,
            "fits": report.fits,
            "complete": report.complete,
            "missing": list(report.missing),
            "lacks": list(report.lacks),
            "hints": list(report.hints),
            "litter": report.litter,
            "found": dict(report.found),
            "expected": dict(report.expected),
            "cases": cases,
            "set_aside": dict(codes),
        }
    )
    raise typer.Exit(0 if cases else 1)


@sources_app.command()
def fixture(
    name: Annotated[str, typer.Argument(metavar="ID")],
    directory: Annotated[Path, typer.Argument(help="Folder to make.")],
    layout: Annotated[str | None, typer.Option(help="Which layout; the first by default.")] = None,
    extra: Extra = None,
) -> None:
    """Write a tiny synthetic raw tree in the source's true layout."""
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources, get_source

    source = get_source(find_sources(extra or ()), name)
    names = [entry.name for entry in source.card.layouts]
    if layout is not None and layout not in names:
        raise MedrcubeError(f"{name} has no layout {layout!r}; it has {', '.join(names)}")
    if directory.exists() and any(directory.iterdir()):
        raise MedrcubeError(f"{directory}: is not empty; choose a new folder")
    source.build_fixture(directory, layout or names[0])
    Reporter().result(f"wrote {directory}")


@sources_app.command("count")
def count_command(
    name: Annotated[str, typer.Argument(metavar="ID")],
    root: Annotated[Path, typer.Argument(help="A raw tree; of pictures the names are enough.")],
    evidence: Annotated[str, typer.Option(help="What is counted.")] = "TODO: what was counted",
    extra: Extra = None,
) -> None:
    """Count the pictures of each answer in a raw tree, as [[count]] tables for the card."""
    from medrcube.build.profile.raw_counts import as_counts, as_toml, count_answers
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources, get_source

    source = get_source(find_sources(extra or ()), name)
    Reporter().result(as_toml(as_counts(count_answers(source, root), evidence)))


@sources_app.command("new")
def new_source_folder(
    name: Annotated[str, typer.Argument(metavar="ID")],
    root: Annotated[Path, typer.Option("--from", metavar="ROOT", help="A raw tree.")],
    into: Annotated[Path, typer.Option(help="Folder of source folders.")] = Path("sources"),
) -> None:
    """Write a first source folder for a raw tree; its TODO lines say what a person decides."""
    from medrcube.console.progress import Reporter
    from medrcube.sources._framework.scaffold import new_source

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

    from medrcube.build.stages.source_check import check_source
    from medrcube.console.progress import Reporter
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
    from medrcube.build.reference.audit_rules import rules_page
    from medrcube.build.reference.tasks import tasks_page
    from medrcube.build.reference.wordings import wordings_page
    from medrcube.build.reference.yields import yields_of
    from medrcube.console.progress import Reporter
    from medrcube.files.atomic import write_text
    from medrcube.ontologies.reference_page import terms_page
    from medrcube.sources._framework.reference_page import cube_picture, sources_page
    from medrcube.sources.registry import find_sources

    cards = [source.card for source in find_sources(extra or ()).values()]
    yields = yields_of(cards)
    text = sources_page(cards, yields.items, yields.section)
    write_text(directory / "reference" / "sources.md", text)
    write_text(directory / "images" / "cube.svg", cube_picture(cards))
    write_text(directory / "reference" / "tasks.md", tasks_page(cards))
    write_text(directory / "reference" / "item-rules.md", rules_page())
    write_text(directory / "reference" / "terms.md", terms_page())
    write_text(directory / "reference" / "wordings.md", wordings_page(cards))
    Reporter().result(f"wrote {directory / 'reference' / 'sources.md'}")


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
        "passed_on": card.access.passed_on,
        "rights": card.access.known(),
        "layouts": [layout.name for layout in card.layouts],
        "tasks": list(card.tasks),
    }
