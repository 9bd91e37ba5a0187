"""The commands of ``medrcube ontologies``."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from medrcube.cli.options.shared import Json, Wide
from medrcube.errors import MedrcubeError
from medrcube.ontologies.knowledge_protocol import CHECKED_EDITIONS
from medrcube.ontologies.licences import LICENCES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from medrcube.console.progress import Advance, Reporter
    from medrcube.ontologies.concept_records import Ontology
    from medrcube.ontologies.index import OntologyIndex
    from medrcube.ontologies.index.compile import OntologyInput

_CHILDREN = 20
"""Children that people are shown; programs get all."""


def _unwrapped(text: str) -> str:
    """A paragraph whose words Click leaves whole; it would part them at hyphens."""
    return "\b\n" + textwrap.fill(text, 76, break_on_hyphens=False)


STATEMENTS = "\n\n".join(
    _unwrapped(LICENCES[name].statement(it)) for name, it in CHECKED_EDITIONS.items()
)
"""What each licence asks every user to carry."""

ontologies_app = typer.Typer(
    help="Your own copies of HPO, RadLex and ICD-11, in one index. medrcube ships none of them."
    f"\n\n{STATEMENTS}",
    no_args_is_help=True,
)

IndexOption = Annotated[
    Path | None,
    typer.Option(
        "--index",
        metavar="DB",
        help="Index file; by default that of the workspace here, or ./ontologies.sqlite3.",
    ),
]


@ontologies_app.command("index", epilog=STATEMENTS)
def make_index(
    hpo: Annotated[Path | None, typer.Option(metavar="F", help="HPO: hp.obo.")] = None,
    radlex: Annotated[
        Path | None, typer.Option(metavar="F", help="RadLex: RDF/XML or a CSV table.")
    ] = None,
    icd11: Annotated[
        Path | None,
        typer.Option(metavar="F", help="ICD-11: WHO's table, zip or text, or the ICD-API's JSON."),
    ] = None,
    mapping: Annotated[
        list[Path] | None, typer.Option(metavar="F", help="SSSOM table; may be repeated.")
    ] = None,
    version: Annotated[
        list[str] | None,
        typer.Option(metavar="ONTOLOGY=V", help="Version of a file that states none."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DB", help="File to write; ./ontologies.sqlite3.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Compile ontology files into one index; does nothing when nothing has changed."""
    import time
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX, SSSOM
    from medrcube.ontologies.index import DEFAULT_INDEX, OntologyIndex
    from medrcube.ontologies.index.compile import OntologyInput, compile_index, up_to_date

    reporter = Reporter(json_output=json_output)
    started = time.monotonic()
    out = out or Path(DEFAULT_INDEX)
    named = ((HPO, hpo), (RADLEX, radlex), (ICD11, icd11))
    stated = _versions(version, [ontology for ontology, file in named if file is not None])
    files = [
        OntologyInput(ontology=ontology, path=file, version=stated.get(ontology, ""))
        for ontology, file in named
        if file is not None
    ]
    if not files:
        raise MedrcubeError(
            "no ontology is named: give at least one of --hpo, --radlex and --icd11, each with "
            "your own copy of the file"
        )
    files += [OntologyInput(ontology=SSSOM, path=file) for file in mapping or ()]
    for file in files:
        if not file.path.exists():
            raise MedrcubeError(f"{file.path}: there is no such file; check the path")
    made = not up_to_date(out, files)
    if made:
        with reporter.stage("index", len(files) + 1) as advance:
            compile_index(out, _read(files, advance))
            advance()
    with OntologyIndex(out) as index:
        _show_holdings(index, reporter)
        seconds = time.monotonic() - started
        reporter.result(
            f"wrote {out} in {seconds:.1f} s" if made else f"{out} is up to date: nothing to do"
        )
        reporter.data(
            {
                "index": str(out),
                "made": made,
                "digest": index.digest,
                "editions": [
                    {
                        **asdict(it.edition),
                        "concepts": it.concepts,
                        "names": it.names,
                        "obsolete": it.obsolete,
                        "mappings": it.mappings,
                    }
                    for it in index.holdings
                ],
            }
        )


@ontologies_app.command()
def search(
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Words, an id or a code.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most concepts shown.")] = 20,
    ontology: Annotated[
        Literal["hpo", "radlex", "icd11"] | None, typer.Option(help="Only this one.")
    ] = None,
    index: IndexOption = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Find concepts by name; the last word may be begun only, as in "pleural eff"."""
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.ontologies.index import OntologyIndex

    reporter = Reporter(json_output=json_output)
    wanted = " ".join(text)
    with OntologyIndex(find_index(index)) as opened:
        hits = opened.search(wanted, limit, ontology=ontology)
    if hits:
        reporter.table(
            ("id", "ontology", "name", "found by"),
            [
                (
                    hit.code or hit.id,
                    hit.ontology,
                    f"{hit.label}{_state(obsolete=hit.obsolete, residual=hit.residual)}",
                    "" if hit.matched == hit.label else hit.matched,
                )
                for hit in hits
            ],
            clip=not wide,
        )
    else:
        reporter.result(f"no concept has a name with {wanted!r}")
    reporter.data([asdict(hit) for hit in hits])


@ontologies_app.command()
def show(
    identity: Annotated[str, typer.Argument(metavar="ID", help="Id, or ICD-11 code.")],
    index: IndexOption = None,
    json_output: Json = False,
) -> None:
    """Show one concept: names, neighbours, the labels that point at it, its licence."""
    from medrcube.console.progress import Reporter
    from medrcube.ontologies.index import OntologyIndex
    from medrcube.ontologies.index.concept_page import describe

    reporter = Reporter(json_output=json_output)
    path = find_index(index)
    with OntologyIndex(path) as opened:
        page = describe(opened, identity)
    if page is None:
        raise MedrcubeError(
            f"{identity!r} is no id or code in {path}; find it with  "
            f"medrcube ontologies search {identity}"
        )
    _show_page(page, reporter)
    reporter.data(page)


@ontologies_app.command()
def check(
    index: IndexOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show also what a note of the table calls judged.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Hold the ids and relations that medrcube ships against your editions.

    Ends with status 1 when an id is missing or withdrawn there.
    """
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.ontologies.index import OntologyIndex
    from medrcube.ontologies.term_validation import BROKEN, check_terms
    from medrcube.ontologies.terms import load_terms

    reporter = Reporter(json_output=json_output)
    terms = load_terms()
    with OntologyIndex(find_index(index)) as opened:
        findings = check_terms(terms, opened)
        editions = {it.ontology: it.version for it in opened.editions}
    shown = [it for it in findings if everything or not it.known]
    if shown:
        reporter.table(
            ("", "label", "id", "what"),
            [(it.kind, it.label, it.identity or it.ontology, it.detail) for it in shown],
        )
    broken = sum(it.kind in BROKEN for it in findings)
    known = sum(it.known for it in findings)
    reporter.result(
        f"{len(terms)} terms: {broken} ids missing or withdrawn, "
        f"{len(findings) - broken - known} other things to look at, {known} judged before"
    )
    reporter.data({"editions": editions, "findings": [asdict(it) for it in findings]})
    raise typer.Exit(1 if broken else 0)


def find_index(given: Path | None) -> Path:
    """The index that is named, that of the workspace in this folder, or the default name here.

    Raises:
        WorkspaceError: the workspace in this folder has a wrong configuration.
    """
    from medrcube.ontologies.index import DEFAULT_INDEX
    from medrcube.workspace import CONFIG, open_workspace

    if given is not None:
        return given
    stated = open_workspace(Path()).ontology_index if Path(CONFIG).exists() else None
    return stated or Path(DEFAULT_INDEX)


def _read(files: Sequence[OntologyInput], advance: Advance) -> Iterator[Ontology]:
    from medrcube.ontologies.readers import open_ontology

    for file in files:
        yield open_ontology(file.path, file.ontology, version=file.version)
        advance()


def _versions(values: list[str] | None, named: Sequence[str]) -> dict[str, str]:
    stated = {}
    for value in values or ():
        ontology, equals, version = value.partition("=")
        if not (equals and version.strip()) or ontology not in named:
            raise MedrcubeError(
                f"--version {value}: expected ONTOLOGY=V, such as radlex=4.3, of an ontology "
                "whose file is given"
            )
        stated[ontology] = version.strip()
    return stated


def _show_holdings(index: OntologyIndex, reporter: Reporter) -> None:
    reporter.table(
        ("ontology", "version", "concepts", "names", "obsolete", "mappings", "remarks"),
        [
            (
                it.edition.ontology,
                it.edition.version,
                it.concepts,
                it.names,
                it.obsolete,
                it.mappings,
                len(it.edition.remarks),
            )
            for it in index.holdings
        ],
    )
    for edition in index.editions:
        for remark in edition.remarks:
            reporter.note(f"{edition.ontology}: {remark}")
    for edition in index.editions:
        says = f". {edition.statement}" if edition.statement else ""
        reporter.result(f"{edition.ontology}: {edition.licence}{says}")


def _show_page(page: dict[str, Any], reporter: Reporter) -> None:
    state = _state(obsolete=page["obsolete"], residual=page["residual"])
    reporter.result(f"{page['code'] or page['id']}  {page['name']}{state}")
    if page["code"]:
        reporter.result(page["id"])
    if page["asked"].casefold() not in {page["id"].casefold(), page["code"].casefold()}:
        reporter.result(f"asked for as {page['asked']}")
    parts = (
        ("Synonyms", ("scope", "name"), [(it["scope"], it["name"]) for it in page["synonyms"]]),
        ("Consider instead", ("id", "name"), [_pair(it) for it in page["consider"]]),
        ("Parents", ("id", "name"), [_pair(it) for it in page["parents"]]),
        ("Children", ("id", "name"), [_pair(it) for it in page["children"][:_CHILDREN]]),
        (
            "Relations in the ontology",
            ("relation", "id", "name"),
            [(it["relation"], *_pair(it)) for it in page["related"]],
        ),
        (
            "Labels of medrcube",
            ("label", "kind", "closeness"),
            [(it["label"], it["kind"], it["match"]) for it in page["labels"]],
        ),
        (
            "Relations of these labels",
            ("label", "relation", "label", "reason"),
            [
                (it["label_a"], it["relation"], it["label_b"], it["reason"])
                for it in page["relations"]
            ],
        ),
        (
            "Mappings",
            ("subject", "predicate", "object"),
            [(it["subject"], it["predicate"], it["object"]) for it in page["mappings"]],
        ),
    )
    for title, columns, rows in parts:
        if rows:
            reporter.result(f"\n{title}")
            reporter.table(columns, rows)
    more = len(page["children"]) - _CHILDREN
    if more > 0:
        reporter.result(f"... and {more:,} more children; --json gives all")
    edition = page["edition"]
    reporter.result(
        f"\n{edition['ontology']} {edition['version']}, {edition['licence']}\n"
        f"{edition['statement']}"
    )


def _state(*, obsolete: bool, residual: bool) -> str:
    if obsolete:
        return " (withdrawn)"
    return " (rest class)" if residual else ""


def _pair(entry: dict[str, Any]) -> tuple[str, str]:
    return (entry["code"] or entry["id"], entry["name"])
