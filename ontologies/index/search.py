"""Concept search by id, code, name or prefix (FTS5, BM25)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from medrcube.ontologies.concept_records import SynonymScope
from medrcube.ontologies.index.name_normalization import match_expression, spelling
from medrcube.ontologies.index.schema import LABEL
from medrcube.ontologies.index.sqlite_file import IndexFile

__all__ = ["SearchHit", "find_by_name", "search"]

_SCOPES = (LABEL, *(scope.value for scope in SynonymScope))
_LEAST = 200
"""Minimum number of full-text rows to examine, however few results are requested."""

_CONCEPT = (
    "SELECT id, code, label, ontology, concept.obsolete, residual FROM concept "
    "JOIN edition ON edition.key = concept.edition WHERE concept.key = ?"
)
_NAMES = (
    "SELECT 0.0, concept.id, name.text, name.spelling, name.scope, name.type "
    "FROM name JOIN concept ON concept.key = name.concept "
)
_SEARCH = (
    "SELECT bm25(fulltext), concept.id, name.text, name.spelling, name.scope, name.type "
    "FROM fulltext JOIN name ON name.key = fulltext.rowid "
    "JOIN concept ON concept.key = name.concept "
    "JOIN edition ON edition.key = concept.edition "
    "WHERE fulltext MATCH ? AND (? IS NULL OR edition.ontology = ?) ORDER BY rank LIMIT ?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A concept found by a search.

    Attributes:
        id: of the concept, after redirects.
        code: ICD-11 code, or empty.
        label: preferred name, unchanged.
        ontology: ``hpo``, ``radlex`` or ``icd11``.
        matched: the name that matched; may be that of a withdrawn concept that redirects here.
        scope: ``LABEL`` or the scope of the synonym.
        type: the publisher's synonym type, or empty.
        obsolete: whether it is withdrawn without a replacement.
        residual: whether it is a residual category.
        exact: whether text and name have the same spelling.
    """

    id: str
    code: str
    label: str
    ontology: str
    matched: str
    scope: str
    type: str
    obsolete: bool
    residual: bool
    exact: bool


def find_by_name(file: IndexFile, text: str) -> tuple[SearchHit, ...]:
    """Return concepts with a name spelt like the text; labels first, then by closeness."""
    rows = file.rows(_NAMES + "WHERE name.spelling = ?", spelling(text))
    return _best(file, rows, text)


def search(file: IndexFile, text: str, limit: int, ontology: str | None) -> tuple[SearchHit, ...]:
    """Return concepts that match a text, best first; see ``OntologyIndex.search``."""
    hits = [*_by_id(file, text), *find_by_name(file, text)]
    expression = match_expression(text)
    if expression:
        rows = file.rows(_SEARCH, expression, ontology, ontology, max(_LEAST, 20 * limit))
        hits += _best(file, rows, text)
    first: dict[str, SearchHit] = {}
    for hit in hits:
        if ontology in {None, hit.ontology}:
            first.setdefault(hit.id, hit)
    ranked = sorted(first.values(), key=lambda hit: hit.obsolete or hit.residual)
    return tuple(ranked[:limit])


def _by_id(file: IndexFile, text: str) -> tuple[SearchHit, ...]:
    rows = file.rows(_NAMES + "WHERE concept.key = ? AND name.scope = ?", file.key(text), LABEL)
    return _best(file, rows, text)


def _best(file: IndexFile, rows: Iterable[Any], text: str) -> tuple[SearchHit, ...]:
    """Return the best name of each concept, after following redirects."""
    query = spelling(text)
    best: dict[str, tuple[tuple[Any, ...], SearchHit]] = {}
    for score, identity, matched, same, scope, kind in rows:
        own, code, label, ontology, obsolete, residual = file.rows(_CONCEPT, file.key(identity))[0]
        hit = SearchHit(
            id=own,
            code=code,
            label=label,
            ontology=ontology,
            matched=matched,
            scope=scope,
            type=kind,
            obsolete=bool(obsolete),
            residual=bool(residual),
            exact=same == query,
        )
        order = (score, _SCOPES.index(scope), ontology, own)
        if own not in best or order < best[own][0]:
            best[own] = (order, hit)
    return tuple(hit for _, hit in sorted(best.values(), key=lambda pair: pair[0]))
