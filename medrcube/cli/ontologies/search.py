"""``medrcube ontologies search``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from medrcube.cli.ontologies.index_file import IndexOption, find_index
from medrcube.cli.ontologies.show import state_text
from medrcube.cli.options.shared import Json, Wide

__all__ = ["search"]


def search(
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="Words, id or code to search for.")
    ],
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Maximum number of concepts to show.")
    ] = 20,
    ontology: Annotated[
        Literal["hpo", "radlex", "icd11"] | None, typer.Option(help="Only this ontology.")
    ] = None,
    index: IndexOption = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Find concepts by name, id or code.

    The last word may be incomplete, as in "pleural eff".
    """
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.ontologies.index import OntologyIndex

    reporter = Reporter(json_output=json_output, wide=wide)
    query = " ".join(text)
    with OntologyIndex(find_index(index)) as opened:
        hits = opened.search(query, limit, ontology=ontology)
    if hits:
        reporter.table(
            ("id", "ontology", "name", "matched name"),
            [
                (
                    hit.code or hit.id,
                    hit.ontology,
                    f"{hit.label}{state_text(obsolete=hit.obsolete, residual=hit.residual)}",
                    "" if hit.matched == hit.label else hit.matched,
                )
                for hit in hits
            ],
        )
    else:
        reporter.result(f"no concept has a name with {query!r}")
    reporter.data([asdict(hit) for hit in hits])
