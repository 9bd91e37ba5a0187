"""``medrcube ontologies show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from medrcube.cli.ontologies.index_file import IndexOption, find_index
from medrcube.cli.options.shared import Json, Wide
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter

__all__ = ["show", "state_text"]

_CHILDREN = 20
"""Children shown without ``-v``."""


def show(
    identity: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the concept, or ICD-11 code.")
    ],
    index: IndexOption = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Show a concept: names, neighbours, labels."""
    from medrcube.console.progress import Reporter
    from medrcube.ontologies.index import OntologyIndex
    from medrcube.ontologies.index.concept_page import describe

    reporter = Reporter(json_output=json_output, wide=wide)
    path = find_index(index)
    with OntologyIndex(path) as opened:
        page = describe(opened, identity)
    if page is None:
        raise MedrcubeError(
            f"{identity!r} is not an id or code in {path}; search with  "
            f"medrcube ontologies search {identity}"
        )
    _show_page(page, reporter)
    reporter.data(page)


def state_text(*, obsolete: bool, residual: bool) -> str:
    """The state of a concept, to follow its name; empty for an ordinary one."""
    if obsolete:
        return " (withdrawn)"
    return " (residual category)" if residual else ""


def _show_page(page: dict[str, Any], reporter: Reporter) -> None:
    state = state_text(obsolete=page["obsolete"], residual=page["residual"])
    reporter.result(f"{page['code'] or page['id']}  {page['name']}{state}")
    if page["code"]:
        reporter.result(page["id"])
    if page["asked"].casefold() not in {page["id"].casefold(), page["code"].casefold()}:
        reporter.result(f"asked for as {page['asked']}")
    parts = (
        (
            "Synonyms",
            ("scope", "name"),
            [(entry["scope"], entry["name"]) for entry in page["synonyms"]],
        ),
        ("Consider instead", ("id", "name"), [_pair(entry) for entry in page["consider"]]),
        ("Parents", ("id", "name"), [_pair(entry) for entry in page["parents"]]),
        (
            "Children",
            ("id", "name"),
            [_pair(entry) for entry in page["children"][: reporter.limit(_CHILDREN)]],
        ),
        (
            "Relations in the ontology",
            ("relation", "id", "name"),
            [(entry["relation"], *_pair(entry)) for entry in page["related"]],
        ),
        (
            "Labels of medrcube",
            ("label", "kind", "closeness"),
            [(entry["label"], entry["kind"], entry["match"]) for entry in page["labels"]],
        ),
        (
            "Relations of these labels",
            ("label", "relation", "label", "reason"),
            [
                (entry["label_a"], entry["relation"], entry["label_b"], entry["reason"])
                for entry in page["relations"]
            ],
        ),
        (
            "Mappings",
            ("subject", "predicate", "object"),
            [(entry["subject"], entry["predicate"], entry["object"]) for entry in page["mappings"]],
        ),
    )
    for title, columns, rows in parts:
        if rows:
            reporter.result(f"\n{title}")
            reporter.table(columns, rows)
    count = len(page["children"][: reporter.limit(_CHILDREN)])
    if more := len(page["children"]) - count:
        reporter.result(f"... and {more:,} more children; medrcube -v shows all")
    edition = page["edition"]
    reporter.result(
        f"\n{edition['ontology']} {edition['version']}, {edition['licence']}\n"
        f"{edition['statement']}"
    )


def _pair(entry: dict[str, Any]) -> tuple[str, str]:
    return (entry["code"] or entry["id"], entry["name"])
