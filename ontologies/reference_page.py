"""Reference page of the term and relation tables: contents and review status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from medrcube.ontologies.concept_records import ONTOLOGIES
from medrcube.ontologies.relations import KINDS, Relation, Relations, load_relations
from medrcube.ontologies.term_validation import TITLES
from medrcube.ontologies.terms import (
    EXACT,
    MATCHES,
    NO_TERM,
    Term,
    Terms,
    load_terms,
    read_table,
)
from medrcube.ontologies.visibility import COLUMNS as VISIBLE_COLUMNS
from medrcube.templates import render_card

__all__ = ["terms_page"]


def terms_page(terms: Terms | None = None, relations: Relations | None = None) -> str:
    """Return a Markdown page: counts, rows no clinician has reviewed, and rows without a term.

    Args:
        terms: term table; the package's own by default.
        relations: relation table; the package's own by default.
    """
    terms = terms or load_terms()
    relations = relations or load_relations()
    visible = read_table("visible.csv", VISIBLE_COLUMNS)
    inexact = [term for term in terms.values() if _inexact(term)]
    exclusive = set(relations.groups())
    return render_card(
        "terms.md",
        terms=terms,
        matches=MATCHES,
        closeness=[_closeness(terms.values(), ontology) for ontology in ONTOLOGIES],
        seen=(
            _review_counts(
                "terms with an id that is not exact", (term.reviewed for term in inexact)
            ),
            _review_counts(
                "other terms",
                (term.reviewed for term in terms.values() if not _inexact(term)),
            ),
            _review_counts("relations", (row.reviewed for row in relations.rows)),
            _review_counts("rows on what an image shows", (row["reviewed"] for row in visible)),
        ),
        inexact=[(term, _ids(term)) for term in inexact if not term.reviewed],
        groups=[(group, relations.group_members(group)) for group in relations.groups()],
        kinds=[(kind, sum(row.relation == kind for row in relations.rows)) for kind in KINDS],
        relations=[
            (kind, [row for row in relations.rows if row.relation == kind and _open(row)])
            for kind in KINDS
            if kind != "excludes"
        ],
        excluding=[
            row
            for row in relations.rows
            if row.relation == "excludes" and row.group not in exclusive and _open(row)
        ],
        unseen=_by_kind(
            term
            for term in terms.values()
            if term.ids() and not _inexact(term) and not term.reviewed
        ),
        without=_without(terms.values()),
    )


def _closeness(terms: Iterable[Term], ontology: str) -> tuple[str, list[int]]:
    matches = [term.matches()[ontology][1] for term in terms if ontology in term.matches()]
    return TITLES[ontology], [len(matches), *(matches.count(match) for match in MATCHES)]


def _review_counts(what: str, reviewed: Iterable[str]) -> tuple[str, int, int]:
    marks = list(reviewed)
    return what, len(marks), sum(map(bool, marks))


def _inexact(term: Term) -> bool:
    return any(match != EXACT for _, match in term.matches().values())


def _ids(term: Term) -> str:
    return ", ".join(
        f"{TITLES[ontology]} {identity} {match}"
        for ontology, (identity, match) in term.matches().items()
        if match != EXACT
    )


def _open(row: Relation) -> bool:
    return not row.reviewed


def _by_kind(terms: Iterable[Term]) -> Mapping[str, list[str]]:
    labels: dict[str, list[str]] = {}
    for term in terms:
        labels.setdefault(term.kind, []).append(term.label)
    return labels


def _without(terms: Iterable[Term]) -> list[tuple[str, list[str]]]:
    """Group labels without any id by the reason in their notes, most frequent reason first."""
    reasons: dict[str, list[str]] = {}
    for term in terms:
        if not term.ids():
            reason = term.note.removeprefix(NO_TERM).partition(";")[0]
            reasons.setdefault(reason, []).append(term.label)
    return sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
