"""Protocol of ontology knowledge, as safety rules and distractor selection query it.

HPO may not be altered and ICD-11 may not be excerpted, so neither is shipped: users compile an
index of their own files (``medrcube ontologies index``). Without one the tables of this project
stand alone (``NoKnowledge``), and no distractor becomes unsafe, since knowledge only ever refuses,
ranks or names a distractor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX
from medrcube.ontologies.terms import Term

__all__ = ["CHECKED_EDITIONS", "ConceptName", "Knowledge", "NoKnowledge"]

CHECKED_EDITIONS = {HPO: "2025-01-16", RADLEX: "2017-01", ICD11: "MMS 2024-01"}
"""Editions against which the ids of ``terms.csv`` were checked, by ontology."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptName:
    """A preferred name and where it stands.

    Attributes:
        text: the name, unchanged.
        id: id or code of the concept.
        ontology: ``hpo``, ``radlex`` or ``icd11``.
        version: of the edition.
    """

    text: str
    id: str
    ontology: str
    version: str


class Knowledge(Protocol):
    """Answers about pairs of terms; every answer is the same for the same index."""

    def editions(self) -> dict[str, str]:
        """Ontology -> version, of every edition at hand."""
        ...

    def same(self, a: Term, b: Term) -> bool:
        """Whether the two are one concept: ids after redirects, names, EXACT synonyms, mappings."""
        ...

    def implies(self, a: Term, b: Term) -> bool:
        """Whether some ontology makes ``a`` a kind of ``b``; false for one concept."""
        ...

    def similarity(self, a: Term, b: Term) -> float | None:
        """Lin similarity in [0, 1] with intrinsic content; ``None`` where no ontology has both."""
        ...

    def siblings(self, a: Term, b: Term) -> bool:
        """Whether the two share a direct parent."""
        ...

    def contents(self, terms: Sequence[Term]) -> tuple[float | None, ...]:
        """Intrinsic information content of each in [0, 1], ``None`` where it is not known.

        All are of the one ontology that holds most of the terms, since the depths of two
        ontologies cannot be compared.
        """
        ...

    def preferred(self, term: Term) -> ConceptName | None:
        """The name to show: RadLex for imaging terms, ICD-11 for diagnoses, HPO for findings."""
        ...

    def names(self, term: Term) -> tuple[ConceptName, ...]:
        """All names that may be shown, the preferred one first; at most one of each ontology."""
        ...

    def find(self, text: str) -> tuple[ConceptName, ...]:
        """Concepts whose label or EXACT synonym reads like the text, best first."""
        ...


@dataclass(frozen=True, slots=True)
class NoKnowledge:
    """No index: nothing is known beyond our own tables."""

    def editions(self) -> dict[str, str]:
        """No edition."""
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
        """No name but our own."""
        return None

    def names(self, term: Term) -> tuple[ConceptName, ...]:  # noqa: ARG002
        """No name but our own."""
        return ()

    def find(self, text: str) -> tuple[ConceptName, ...]:  # noqa: ARG002
        """Nothing."""
        return ()
