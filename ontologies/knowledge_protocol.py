"""Protocol for ontology knowledge, as safety rules and distractor selection query it.

HPO may not be altered and ICD-11 may not be excerpted, so neither is shipped: users compile an
index from their own files (``medrcube ontologies index``). Without an index only the tables of this
project are used (``NoKnowledge``), and no distractor becomes unsafe, since knowledge only ever
rejects, ranks or names a distractor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX
from medrcube.ontologies.terms import Term

__all__ = ["CHECKED_EDITIONS", "ConceptName", "Knowledge", "NoKnowledge"]

CHECKED_EDITIONS = {HPO: "2025-01-16", RADLEX: "2017-01", ICD11: "MMS 2024-01"}
"""Editions that the ids of ``terms.csv`` were checked against, by ontology."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptName:
    """A preferred name and its origin.

    Attributes:
        text: the name, unchanged.
        id: id or code of the concept.
        ontology: ``hpo``, ``radlex`` or ``icd11``.
        version: version of the edition.
    """

    text: str
    id: str
    ontology: str
    version: str


class Knowledge(Protocol):
    """Queries on pairs of terms; deterministic for a given index."""

    def editions(self) -> dict[str, str]:
        """Ontology -> version, for every available edition."""
        ...

    def same(self, a: Term, b: Term) -> bool:
        """Whether the two are one concept: ids after redirects, names, EXACT synonyms, mappings."""
        ...

    def implies(self, a: Term, b: Term) -> bool:
        """Whether some ontology makes ``a`` a kind of ``b``; false if they are the same concept."""
        ...

    def similarity(self, a: Term, b: Term) -> float | None:
        """Lin similarity in [0, 1] with intrinsic content; ``None`` unless an ontology has both."""
        ...

    def siblings(self, a: Term, b: Term) -> bool:
        """Whether the two share a direct parent."""
        ...

    def contents(self, terms: Sequence[Term]) -> tuple[float | None, ...]:
        """Intrinsic information content of each in [0, 1], ``None`` if unknown.

        All values come from the one ontology that contains most of the terms, since depths in
        different ontologies are not comparable.
        """
        ...

    def preferred(self, term: Term) -> ConceptName | None:
        """Return the name to display: RadLex for imaging terms, ICD-11 diagnoses, HPO findings."""
        ...

    def names(self, term: Term) -> tuple[ConceptName, ...]:
        """Return all names that may be displayed, preferred one first; at most one per ontology."""
        ...

    def find(self, text: str) -> tuple[ConceptName, ...]:
        """Return concepts whose label or EXACT synonym matches the text, best first."""
        ...


@dataclass(frozen=True, slots=True)
class NoKnowledge:
    """No index: nothing is known beyond our own tables."""

    def editions(self) -> dict[str, str]:
        """No editions."""
        return {}

    def same(self, a: Term, b: Term) -> bool:  # noqa: ARG002
        """Unknown, so no."""
        return False

    def implies(self, a: Term, b: Term) -> bool:  # noqa: ARG002
        """Unknown, so no."""
        return False

    def similarity(self, a: Term, b: Term) -> float | None:  # noqa: ARG002
        """Unknown."""
        return None

    def siblings(self, a: Term, b: Term) -> bool:  # noqa: ARG002
        """Unknown, so no."""
        return False

    def contents(self, terms: Sequence[Term]) -> tuple[float | None, ...]:
        """Unknown."""
        return (None,) * len(terms)

    def preferred(self, term: Term) -> ConceptName | None:  # noqa: ARG002
        """No names other than our own."""
        return None

    def names(self, term: Term) -> tuple[ConceptName, ...]:  # noqa: ARG002
        """No names other than our own."""
        return ()

    def find(self, text: str) -> tuple[ConceptName, ...]:  # noqa: ARG002
        """No concepts."""
        return ()
