"""``medrcube ontologies index``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli.options.shared import Json, Wide
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.console.progress import Advance, Reporter
    from medrcube.ontologies.concept_records import Ontology
    from medrcube.ontologies.index import OntologyIndex
    from medrcube.ontologies.index.compile import OntologyInput

__all__ = ["index"]


def index(
    hpo: Annotated[Path | None, typer.Option(metavar="FILE", help="HPO: hp.obo.")] = None,
    radlex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="RadLex: RDF/XML or a CSV table.")
    ] = None,
    icd11: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="ICD-11: WHO's zip or text table, or ICD-API JSON."),
    ] = None,
    mapping: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="SSSOM mapping table; repeatable.")
    ] = None,
    version: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ONTOLOGY=VERSION",
            help="Version of a file that does not state one; repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DB", help="Output file; default: ./ontologies.sqlite3."),
    ] = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Compile ontology files into one index.

    Does nothing if the index is up to date.
    """
    import time
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX, SSSOM
    from medrcube.ontologies.index import DEFAULT_INDEX, OntologyIndex
    from medrcube.ontologies.index.compile import OntologyInput, compile_index, up_to_date

    reporter = Reporter(json_output=json_output, wide=wide)
    started = time.monotonic()
    out = out or Path(DEFAULT_INDEX)
    ontology_files = ((HPO, hpo), (RADLEX, radlex), (ICD11, icd11))
    stated = _versions(version, [ontology for ontology, file in ontology_files if file is not None])
    files = [
        OntologyInput(ontology=ontology, path=file, version=stated.get(ontology, ""))
        for ontology, file in ontology_files
        if file is not None
    ]
    if not files:
        raise MedrcubeError(
            "no ontology given; give at least one of --hpo, --radlex and --icd11, each with your "
            "own copy of the file"
        )
    files += [OntologyInput(ontology=SSSOM, path=file) for file in mapping or ()]
    for file in files:
        if not file.path.exists():
            raise MedrcubeError(f"{file.path}: no such file; check the path")
    outdated = not up_to_date(out, files)
    if outdated:
        with reporter.stage("index", len(files) + 1) as advance:
            compile_index(out, _read(files, advance))
            advance()
    with OntologyIndex(out) as compiled:
        _show_holdings(compiled, reporter)
        seconds = time.monotonic() - started
        reporter.result(
            f"wrote {out} in {seconds:.1f} s" if outdated else f"{out} is up to date: nothing to do"
        )
        reporter.data(
            {
                "index": str(out),
                "made": outdated,
                "digest": compiled.digest,
                "editions": [
                    {
                        **asdict(holding.edition),
                        "concepts": holding.concepts,
                        "names": holding.names,
                        "obsolete": holding.obsolete,
                        "mappings": holding.mappings,
                    }
                    for holding in compiled.holdings
                ],
            }
        )


def _read(files: Sequence[OntologyInput], advance: Advance) -> Iterator[Ontology]:
    from medrcube.ontologies.readers import open_ontology

    for file in files:
        yield open_ontology(file.path, file.ontology, version=file.version)
        advance()


def _versions(values: list[str] | None, ontologies: Sequence[str]) -> dict[str, str]:
    stated = {}
    for value in values or ():
        ontology, equals, version = value.partition("=")
        if not (equals and version.strip()) or ontology not in ontologies:
            raise MedrcubeError(
                f"--version {value}: expected ONTOLOGY=VERSION, such as radlex=4.3, of an ontology "
                "whose file is given"
            )
        stated[ontology] = version.strip()
    return stated


def _show_holdings(index: OntologyIndex, reporter: Reporter) -> None:
    reporter.table(
        ("ontology", "version", "concepts", "names", "obsolete", "mappings", "remarks"),
        [
            (
                holding.edition.ontology,
                holding.edition.version,
                holding.concepts,
                holding.names,
                holding.obsolete,
                holding.mappings,
                len(holding.edition.remarks),
            )
            for holding in index.holdings
        ],
    )
    for edition in index.editions:
        for remark in edition.remarks:
            reporter.note(f"{edition.ontology}: {remark}")
    for edition in index.editions:
        statement = f". {edition.statement}" if edition.statement else ""
        reporter.result(f"{edition.ontology}: {edition.licence}{statement}")
