"""Resolve proposed names to concepts of the term table or the user's ontologies.

A name that is in none of the user's ontologies is treated as made up. A name of a concept in the
term table becomes that concept, whatever the model called it. Any other name becomes a term for
this build only, labelled by its id; no reader ever read it as absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX
from medrcube.ontologies.knowledge_protocol import ConceptName, Knowledge
from medrcube.ontologies.label_words import tokens
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import Term, Terms

__all__ = ["KINDS", "LONGEST_NAME", "Resolver"]

LONGEST_NAME = 80
"""Maximum characters; the longest preferred name among imaging diagnoses is far shorter."""

DISEASE = "disease"
FINDING = "finding"
KINDS = frozenset({DISEASE, FINDING})
"""Kinds of keys to request proposals for; normality and scale grades have their own distractors."""

# ICD-11 MMS: chapters 21 symptoms, 23 external causes, 24 contact factors, 26 traditional
# medicine, V functioning, X extension codes. Their codes begin with these letters.
_NO_DISEASE = frozenset("MPQSVX")
_HEADINGS = frozenset({"abnormal", "abnormality", "anomaly"})
_HEADINGS_FIRST = frozenset({"disease", "disorder", "finding", "symptom", "sign", "syndrome"})
_PHENOTYPE = Term(
    label="", kind="", name="phenotypic abnormality", hpo_id="HP:0000118", hpo_match="exact"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedName:
    """Result of resolving a proposed name.

    Attributes:
        term: the concept; ``None`` if the name is dropped.
        reason: short code why it is dropped; empty otherwise.
    """

    term: Term | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resolver:
    """Looks names up in the user's index and links them to the term table."""

    terms: Terms
    relations: Relations
    knowledge: Knowledge
    _exact: dict[str, list[str]] = field(init=False, default_factory=dict)
    _near: dict[str, list[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for term in self.terms.values():
            for ontology, identity in term.ids().items():
                exact = identity in term.exact_ids()
                index = self._exact if exact else self._near
                index.setdefault(f"{ontology}:{identity}", []).append(term.label)

    def resolve(self, text: str, key: Term) -> ResolvedName:
        """Return the concept meant by a name proposed for ``key``, of the same kind as the key."""
        if not text or len(text) > LONGEST_NAME or not text.isprintable():
            return ResolvedName(reason="no-name")
        names = self.knowledge.find(text)
        if not names:
            return ResolvedName(reason="not-in-index")
        identities = [f"{name.ontology}:{name.id}" for name in names]
        exact = [label for identity in identities for label in self._exact.get(identity, ())]
        if exact:
            return self._of_table(exact, key)
        candidate = _term(names, key.kind)
        same = [
            term.label
            for term in self.terms.values()
            if term.kind == key.kind and self.knowledge.same(candidate, term)
        ]
        if same:
            return self._of_table(same, key)
        if any(identity in self._near for identity in identities):
            return ResolvedName(reason="inexact")
        return self._new_term(candidate, names)

    def _of_table(self, labels: Iterable[str], key: Term) -> ResolvedName:
        distinct = list(dict.fromkeys(labels))
        if not set(distinct) <= self.relations.synonyms(distinct[0]):
            return ResolvedName(reason="ambiguous")
        alike = [label for label in distinct if self.terms[label].kind == key.kind]
        if not alike:
            return ResolvedName(reason="kind")
        return ResolvedName(term=self.terms[alike[0]])

    def _new_term(self, candidate: Term, names: tuple[ConceptName, ...]) -> ResolvedName:
        if len(names) > len(candidate.ids()):
            return ResolvedName(reason="ambiguous")
        if candidate.kind == DISEASE and not _is_disease(candidate.icd11_code):
            return ResolvedName(reason="kind")
        if candidate.kind == FINDING and not self.knowledge.implies(candidate, _PHENOTYPE):
            return ResolvedName(reason="kind")
        words = tokens(candidate.name)
        if not _HEADINGS.isdisjoint(words) or (words[:1] and words[0] in _HEADINGS_FIRST):
            return ResolvedName(reason="heading")
        return ResolvedName(term=candidate)


def _term(names: tuple[ConceptName, ...], kind: str) -> Term:
    """Build a term from the first concept of each ontology."""
    first = {name.ontology: name for name in reversed(names)}
    ids = {ontology: name.id for ontology, name in first.items()}
    # ICD-11 names diagnoses, HPO names findings.
    order = (ICD11, HPO, RADLEX) if kind == DISEASE else (HPO, ICD11, RADLEX)
    preferred = next((first[ontology] for ontology in order if ontology in first), names[0])
    match = {ontology: "exact" if ontology in ids else "" for ontology in order}
    return Term(
        label=f"{preferred.ontology}:{preferred.id}",
        kind=kind,
        name=preferred.text,
        hpo_id=ids.get(HPO, ""),
        hpo_match=match[HPO],
        radlex_id=ids.get(RADLEX, ""),
        radlex_match=match[RADLEX],
        icd11_code=ids.get(ICD11, ""),
        icd11_match=match[ICD11],
    )


def _is_disease(code: str) -> bool:
    """Whether an ICD-11 code is a disease or injury; blocks and chapters have no code."""
    return bool(code) and "/" not in code and code[0] not in _NO_DISEASE
