"""``Knowledge`` backed by a compiled index: equality, implication and similarity of terms.

An id identifies a term only if the term table marks the match as ``exact``. Every "yes" rejects or
ranks a distractor, so doubtful matches (any spelling of a name, any of the ontologies) count as
yes; string matching alone never maps a term (see ``IndexKnowledge.preferred``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX, Concept, SynonymScope
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index.name_normalization import is_abbreviation, spelling
from medrcube.ontologies.index.schema import LABEL
from medrcube.ontologies.knowledge_protocol import ConceptName
from medrcube.ontologies.terms import EXACT, Term

__all__ = ["IndexKnowledge"]

_DIAGNOSIS = (ICD11, HPO, RADLEX)
NAMING = {
    **dict.fromkeys(("disease", "injury", "pathology", "cardiac group"), _DIAGNOSIS),
    "finding": (HPO, RADLEX, ICD11),
}
"""Kind of term -> ontologies that may name it, best first; all other kinds are imaging terms."""

NO_DIAGNOSIS = frozenset({"23", "24", "26", "V", "X"})
"""ICD-11 chapters without diagnoses: external causes, contact with services, traditional
medicine, functioning, extension codes.
"""

_IMAGING = (RADLEX,)
_CLOSE = "close"
_TERMS = 1 << 12
_PAIRS = 1 << 16
"""Cache sizes for terms and pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """Index entries of one term.

    Attributes:
        exact: ids that mean the term, including those added by exact mappings.
        near: ids that mean it exactly or closely.
        above: all ancestors of the exact ids.
        parents: direct parents of the near ids.
        spellings: normalised names of the term.
    """

    exact: frozenset[str]
    near: frozenset[str]
    above: frozenset[str]
    parents: frozenset[str]
    spellings: frozenset[str]


class IndexKnowledge:
    """``Knowledge`` from an index; answers are kept in bounded caches for the object's lifetime."""

    def __init__(self, index: OntologyIndex) -> None:
        self._index = index
        self._versions = _versions(index)
        self._facts = lru_cache(_TERMS)(self._look_up)
        self._likeness = lru_cache(_PAIRS)(self._compare)

    def editions(self) -> dict[str, str]:
        """Return ontology -> version; if there are several mapping tables, all their versions."""
        return dict(self._versions)

    def same(self, a: Term, b: Term) -> bool:
        """Whether the terms share an exact id or a name, after redirects and exact mappings.

        Names are our own option text, labels and EXACT synonyms in normalised spelling, without
        abbreviations.
        """
        facts_a, facts_b = self._facts(a), self._facts(b)
        return not (
            facts_a.exact.isdisjoint(facts_b.exact)
            and facts_a.spellings.isdisjoint(facts_b.spellings)
        )

    def implies(self, a: Term, b: Term) -> bool:
        """Whether an exact id of ``b`` is an ancestor of one of ``a`` in any ontology."""
        above = not self._facts(a).above.isdisjoint(self._facts(b).exact)
        return above and not self.same(a, b)

    def similarity(self, a: Term, b: Term) -> float | None:
        """Lin similarity over exact and close ids: the maximum over the ontologies.

        Each ontology captures only some similarities (RadLex puts consolidation under "displaced
        substance", HPO gives cardiomegaly nothing in common with the lung), so the highest value is
        used.
        """
        first, second = sorted((a, b), key=lambda term: term.label)
        return self._likeness(first, second)

    def siblings(self, a: Term, b: Term) -> bool:
        """Whether exact or close ids share a direct parent in some ontology."""
        facts_a, facts_b = self._facts(a), self._facts(b)
        return not (
            facts_a.parents.isdisjoint(facts_b.parents)
            or self.same(a, b)
            or not facts_a.near.isdisjoint(facts_b.near)
        )

    def contents(self, terms: Sequence[Term]) -> tuple[float | None, ...]:
        """Return the content of an exact id of each term, in the ontology with most of them.

        Concepts that match only closely are excluded, since they are on a different level of
        detail.
        """
        contents = [self._in_ontology(terms, ontology) for ontology in (HPO, RADLEX, ICD11)]
        return max(contents, key=lambda row: sum(value is not None for value in row))

    def preferred(self, term: Term) -> ConceptName | None:
        """Return the first of ``names``."""
        return next(iter(self.names(term)), None)

    def names(self, term: Term) -> tuple[ConceptName, ...]:
        """Return the labels of exact ids, unchanged, from the ontologies that name such terms.

        ICD-11 for diagnoses, HPO for findings, RadLex for imaging terms, then the rest of
        ``NAMING``. Withdrawn concepts, residual categories, labels with corrupted characters and
        the ICD-11 chapters without diagnoses are excluded.
        """
        names: list[ConceptName] = []
        for ontology in NAMING.get(term.kind, _IMAGING):
            identity, match = term.matches().get(ontology, ("", ""))
            concept = self._index.concept(identity) if match == EXACT else None
            if concept is not None and _names_something(concept):
                names.append(self._name(concept.id, concept.code, concept.label, ontology))
        return tuple(names)

    def find(self, text: str) -> tuple[ConceptName, ...]:
        """Return concepts with a label or EXACT synonym spelt like the text, labels first.

        Withdrawn concepts, residual categories, abbreviations and the ICD-11 chapters without
        diagnoses are excluded.
        """
        return tuple(
            self._name(concept.id, concept.code, concept.label, hit.ontology)
            for hit in self._index.by_name(text)
            if hit.scope == LABEL
            or (hit.scope == SynonymScope.EXACT and not is_abbreviation(hit.matched, hit.type))
            if (concept := self._index.concept(hit.id)) is not None
            if _names_something(concept)
        )

    def _in_ontology(self, terms: Sequence[Term], ontology: str) -> tuple[float | None, ...]:
        matches = [term.matches().get(ontology, ("", "")) for term in terms]
        return tuple(self._index.content(own) if match == EXACT else None for own, match in matches)

    def _name(self, identity: str, code: str, label: str, ontology: str) -> ConceptName:
        return ConceptName(
            text=label, id=code or identity, ontology=ontology, version=self._versions[ontology]
        )

    def _look_up(self, term: Term) -> _Facts:
        index = self._index
        exact = frozenset(same for own in term.exact_ids() for same in index.equivalents(own))
        close = {
            index.resolve(own) or own for own, match in term.matches().values() if match == _CLOSE
        }
        return _Facts(
            exact=exact,
            near=exact | close,
            above=frozenset(above for own in exact for above in index.ancestors(own)),
            parents=frozenset(up for own in exact | close for up in index.parents(own)),
            spellings=_own_spelling(term).union(*(index.spellings(own) for own in exact)),
        )

    def _compare(self, a: Term, b: Term) -> float | None:
        pairs = product(self._facts(a).near, self._facts(b).near)
        similarities = [value for pair in pairs if (value := self._index.lin(*pair)) is not None]
        return max(similarities, default=None)


def _versions(index: OntologyIndex) -> dict[str, str]:
    versions: dict[str, list[str]] = {}
    for edition in index.editions:
        versions.setdefault(edition.ontology, []).append(edition.version)
    return {ontology: ", ".join(numbers) for ontology, numbers in versions.items()}


def _names_something(concept: Concept) -> bool:
    return (
        concept.presentable
        and not (concept.obsolete or concept.residual)
        and concept.chapter not in NO_DIAGNOSIS
    )


def _own_spelling(term: Term) -> frozenset[str]:
    own = spelling(term.name)
    return frozenset() if not own or is_abbreviation(term.name) else frozenset({own})
