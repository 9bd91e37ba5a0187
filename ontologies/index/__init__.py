"""Compiled ontology index (SQLite): concepts by id, code or name, hierarchy, similarity.

The file is opened read-only and as immutable: no lock is taken, and opening takes a millisecond.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from medrcube.ontologies.concept_records import (
    IS_A,
    Concept,
    ConceptMapping,
    Edge,
    Edition,
    Synonym,
    SynonymScope,
)
from medrcube.ontologies.index.name_normalization import canonical, is_abbreviation
from medrcube.ontologies.index.schema import LABEL
from medrcube.ontologies.index.search import SearchHit, find_by_name, search
from medrcube.ontologies.index.sqlite_file import CACHE_SIZE, IndexFile

__all__ = [
    "DEFAULT_INDEX",
    "OntologyIndex",
    "compile",
    "concept_page",
    "name_normalization",
    "schema",
]

DEFAULT_INDEX = "ontologies.sqlite3"
"""Default name of the file that ``medrcube ontologies index`` writes."""

EXACT_MATCH = frozenset(
    {
        "skos:exactMatch",
        "http://www.w3.org/2004/02/skos/core#exactMatch",
        "owl:equivalentClass",
        "http://www.w3.org/2002/07/owl#equivalentClass",
    }
)
"""SSSOM predicates that state that two ids mean the same thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditionCounts:
    """One edition of an index with its row counts."""

    edition: Edition
    concepts: int
    names: int
    obsolete: int
    mappings: int


class OntologyIndex:
    """An index file; every query follows redirects and accepts any form of an id.

    Raises:
        NoIndexError: the file is something else.
        IndexFileError: the file is missing, has a different schema, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = IndexFile(path)
        meta = dict(self._file.rows("SELECT item, value FROM meta"))
        self.digest: str = meta["digest"]
        self.epoch: str = meta["epoch"]
        self.holdings = tuple(_holding(row) for row in self._file.rows(_HOLDINGS))
        self.editions = tuple(holding.edition for holding in self.holdings)
        self._edition = lru_cache(CACHE_SIZE)(self._find_edition)
        self._lineage = lru_cache(CACHE_SIZE)(self._find_lineage)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def resolve(self, identity: str) -> str | None:
        """Return the current concept id for an id or ICD-11 code; ``None`` if unknown."""
        key = self._file.key(identity)
        return None if key is None else self._scalar("SELECT id FROM concept WHERE key = ?", key)

    def concept(self, identity: str) -> Concept | None:
        """Return the record of a concept, with all its ids and the edges that can be resolved."""
        key = self._file.key(identity)
        if key is None:
            return None
        row = self._file.rows(
            "SELECT id, label, code, obsolete, residual, kind, chapter, consider FROM concept "
            "WHERE key = ?",
            key,
        )[0]
        synonyms = self._file.rows(
            "SELECT text, scope, type FROM name WHERE concept = ? AND scope <> ? ORDER BY key",
            key,
            LABEL,
        )
        edges = self._file.rows(
            "SELECT concept.id, relation FROM edge JOIN concept ON concept.key = parent "
            "WHERE child = ? ORDER BY relation, parent",
            key,
        )
        alternatives = self._file.rows("SELECT id FROM redirect WHERE concept = ? ORDER BY id", key)
        return Concept(
            id=row[0],
            label=row[1],
            code=row[2],
            obsolete=bool(row[3]),
            residual=bool(row[4]),
            kind=row[5],
            chapter=row[6],
            consider=tuple(json.loads(row[7])),
            synonyms=tuple(
                Synonym(text=text, scope=SynonymScope(scope), type=kind)
                for text, scope, kind in synonyms
            ),
            edges=tuple(Edge(target=target, relation=relation) for target, relation in edges),
            alt_ids=tuple(other for (other,) in alternatives),
        )

    def edition_of(self, identity: str) -> Edition | None:
        """Return the edition that contains a concept."""
        key = self._file.key(identity)
        if key is None:
            return None
        return self.editions[self._edition(key) - 1]

    def spellings(self, identity: str) -> frozenset[str]:
        """Return label and EXACT synonyms in one spelling; see ``name_normalization.spelling``.

        Abbreviations are excluded: "ASD" is a defect of the heart and a disorder of the mind.
        """
        rows = self._file.rows(
            "SELECT text, spelling, type FROM name WHERE concept = ? AND scope IN (?, ?)",
            self._file.key(identity),
            LABEL,
            SynonymScope.EXACT.value,
        )
        return frozenset(
            same for text, same, kind in rows if same and not is_abbreviation(text, kind)
        )

    def parents(self, identity: str) -> tuple[str, ...]:
        """Return the direct is_a parents."""
        return self._ids(
            "SELECT id FROM edge JOIN concept ON key = parent "
            "WHERE child = ? AND relation = ? ORDER BY key",
            self._file.key(identity),
            IS_A,
        )

    def children(self, identity: str) -> tuple[str, ...]:
        """Return the direct is_a children."""
        return self._ids(
            "SELECT id FROM edge JOIN concept ON key = child "
            "WHERE parent = ? AND relation = ? ORDER BY label, key",
            self._file.key(identity),
            IS_A,
        )

    def ancestors(self, identity: str) -> frozenset[str]:
        """Return all is_a ancestors, without the concept itself."""
        return frozenset(
            self._ids(
                "SELECT id FROM closure JOIN concept ON key = ancestor WHERE concept = ?",
                self._file.key(identity),
            )
        )

    def content(self, identity: str) -> float | None:
        """Return the intrinsic information content in [0, 1]: 0 at the root, 1 at a leaf."""
        key = self._file.key(identity)
        return None if key is None else self._lineage(key)[key]

    def lin(self, a: str, b: str) -> float | None:
        """Lin similarity in [0, 1]: twice the content of the best common ancestor over the sum.

        The sum is that of the two concepts' own contents. ``None`` if one is unknown or they belong
        to different ontologies.
        """
        key_a, key_b = self._file.key(a), self._file.key(b)
        if key_a is None or key_b is None or self._edition(key_a) != self._edition(key_b):
            return None
        if key_a == key_b:
            return 1.0
        above_a, above_b = self._lineage(key_a), self._lineage(key_b)
        total = above_a[key_a] + above_b[key_b]
        shared = max((above_a[key] for key in above_a.keys() & above_b.keys()), default=0.0)
        return 2 * shared / total if total else 0.0

    def by_name(self, text: str) -> tuple[SearchHit, ...]:
        """Return concepts with a name spelt like the text; labels first, then by closeness."""
        return find_by_name(self._file, text)

    def search(
        self, text: str, limit: int = 20, *, ontology: str | None = None
    ) -> tuple[SearchHit, ...]:
        """Search concepts whose names contain every word of the text; the last may be a prefix.

        An id or code finds its concept. Exact name matches come first, then the best name of each
        concept by BM25; withdrawn concepts and residual categories come last.
        """
        return search(self._file, text, limit, ontology)

    def mapped(self, identity: str) -> tuple[ConceptMapping, ...]:
        """Return the rows of the SSSOM tables that contain the concept, unchanged."""
        own = self.resolve(identity) or canonical(identity)
        rows = self._file.rows(
            "SELECT subject, predicate, object FROM mapping WHERE subject = ? OR object = ? "
            "ORDER BY predicate, subject, object",
            own,
            own,
        )
        return tuple(ConceptMapping(subject=s, predicate=p, object=o) for s, p, o in rows)

    def equivalents(self, identity: str) -> frozenset[str]:
        """Return ids equivalent by exact mappings, directly or via one other id, plus itself."""
        ids = {self.resolve(identity) or canonical(identity)}
        for _ in range(2):
            ids |= {
                other
                for identifier in ids.copy()
                for row in self.mapped(identifier)
                if row.predicate in EXACT_MATCH
                for other in (row.subject, row.object)
            }
        return frozenset(ids)

    def _find_edition(self, key: int) -> int:
        return int(self._scalar("SELECT edition FROM concept WHERE key = ?", key))

    def _find_lineage(self, key: int) -> Mapping[int, float]:
        """Return the content of a concept and of all its ancestors."""
        return dict(
            self._file.rows(
                "SELECT key, content FROM concept WHERE key = ? UNION ALL "
                "SELECT key, content FROM closure JOIN concept ON key = ancestor "
                "WHERE concept = ?",
                key,
                key,
            )
        )

    def _ids(self, statement: str, *values: object) -> tuple[str, ...]:
        return tuple(row[0] for row in self._file.rows(statement, *values))

    def _scalar(self, statement: str, *values: object) -> Any:
        return self._file.rows(statement, *values)[0][0]


_HOLDINGS = (
    "SELECT ontology, version, file, sha256, licence, statement, remarks, concepts, names, "
    "obsolete, mappings FROM edition ORDER BY key"
)


def _holding(row: Any) -> EditionCounts:
    return EditionCounts(
        edition=Edition(
            ontology=row[0],
            version=row[1],
            file=row[2],
            sha256=row[3],
            licence=row[4],
            statement=row[5],
            remarks=tuple(json.loads(row[6])),
        ),
        concepts=row[7],
        names=row[8],
        obsolete=row[9],
        mappings=row[10],
    )
