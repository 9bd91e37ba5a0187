"""``medrcube ontologies check``."""

from __future__ import annotations

from typing import Annotated

import typer

from medrcube.cli.ontologies.index_file import IndexOption, find_index
from medrcube.cli.options.shared import Json, Wide
from medrcube.console.counts import counted

__all__ = ["check"]


def check(
    index: IndexOption = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Include findings that a note in the table already covers."),
    ] = False,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Check shipped ids against your index.

    The exit status is 1 if an id is missing or obsolete in your editions.
    """
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.ontologies.index import OntologyIndex
    from medrcube.ontologies.term_validation import BROKEN, check_terms
    from medrcube.ontologies.terms import load_terms

    reporter = Reporter(json_output=json_output, wide=wide)
    terms = load_terms()
    with OntologyIndex(find_index(index)) as opened:
        findings = check_terms(terms, opened)
        editions = {edition.ontology: edition.version for edition in opened.editions}
    open_findings = [finding for finding in findings if everything or not finding.known]
    if open_findings:
        reporter.table(
            ("finding", "label", "id", "detail"),
            [
                (finding.kind, finding.label, finding.identity or finding.ontology, finding.detail)
                for finding in open_findings
            ],
        )
    broken = sum(finding.kind in BROKEN for finding in findings)
    judged = sum(finding.known for finding in findings)
    reporter.result(
        f"{counted(len(terms), 'term')}: {counted(broken, 'id')} missing or withdrawn, "
        f"{counted(len(findings) - broken - judged, 'other finding')}, {judged:,} covered by a note"
    )
    reporter.data({"editions": editions, "findings": [asdict(finding) for finding in findings]})
    raise typer.Exit(1 if broken else 0)
