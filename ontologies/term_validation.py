"""Validation of the term and relation tables against an index of HPO, RadLex and ICD-11.

Ids are renamed, merged and withdrawn from edition to edition, and a wrong id is worse than none.
Anything the ontology says beyond the ids (a different wording, an is_a that our table lacks) is a
suggestion for a person: similar wording never creates a mapping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from medrcube.ontologies.concept_records import HPO, ICD11, ONTOLOGIES, RADLEX, Concept
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index.name_normalization import canonical
from medrcube.ontologies.label_words import content_words
from medrcube.ontologies.relations import Relations, load_relations
from medrcube.ontologies.terms import EXACT, Term, Terms

__all__ = ["BROKEN", "TITLES", "IssueKind", "check_terms"]

TITLES = {HPO: "HPO", RADLEX: "RadLex", ICD11: "ICD-11"}
"""Display names of the ontologies; also used in notes of the term table."""

OTHER_WORDING = "other wording in "
"""Prefix of the note part that lists ontologies whose different wording a person has accepted."""

RESIDUAL_NOTE = "residual category"
"""Note of a term whose id is deliberately a residual category."""

_BRACKETS = re.compile(r"\([^)]*\)")


class IssueKind(StrEnum):
    """Kinds of issue, worst first."""

    MISSING = "missing"
    OBSOLETE = "obsolete"
    TURNED = "reversed"
    EXCLUDED = "excluded"
    SHARED = "shared id"
    RESIDUAL = "residual category"
    WORDING = "reads differently"
    PROPOSED = "proposed"
    UNCHECKED = "unchecked"


BROKEN = frozenset({IssueKind.MISSING, IssueKind.OBSOLETE})
"""Kinds that make the check fail: the id means nothing, or something else, in this edition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermIssue:
    """An issue that a person should look at.

    Attributes:
        kind: kind of issue.
        label: label of the term; empty if it concerns a whole ontology.
        ontology: ``hpo``, ``radlex`` or ``icd11``.
        identity: id as in the table.
        detail: what was found, for people.
        known: whether the note of the term says that a person has judged it.
    """

    kind: IssueKind
    label: str
    ontology: str
    identity: str
    detail: str
    known: bool = False


def check_terms(
    terms: Terms, index: OntologyIndex, relations: Relations | None = None
) -> tuple[TermIssue, ...]:
    """Return everything in the tables that the index does not confirm, worst first.

    Args:
        terms: term table.
        index: the user's index; an ontology it lacks is reported once and not checked.
        relations: relation table; the package's own by default.

    Raises:
        IndexFileError: the index file is damaged.
    """
    relations = relations or load_relations()
    ontologies = {edition.ontology for edition in index.editions}
    findings = [
        TermIssue(
            kind=IssueKind.UNCHECKED,
            label="",
            ontology=ontology,
            identity="",
            detail=f"the index holds no {TITLES[ontology]}; none of its ids was checked",
        )
        for ontology in ONTOLOGIES
        if ontology not in ontologies
    ]
    exact: dict[str, dict[str, list[str]]] = {ontology: {} for ontology in ontologies}
    for term in terms.values():
        for ontology, (identity, match) in term.matches().items():
            if ontology not in ontologies:
                continue
            findings.extend(_check_id(term, ontology, identity, match, index))
            concept_id = index.resolve(identity)
            if concept_id is not None and match == EXACT:
                exact[ontology].setdefault(concept_id, []).append(term.label)
    for ontology, labels in exact.items():
        findings.extend(_check_shared(ontology, labels, relations))
        findings.extend(_check_kinds(ontology, labels, relations, index))
    order = {kind: number for number, kind in enumerate(IssueKind)}
    return tuple(
        sorted(findings, key=lambda issue: (order[issue.kind], issue.label, issue.ontology))
    )


def _check_id(
    term: Term, ontology: str, identity: str, match: str, index: OntologyIndex
) -> Iterator[TermIssue]:
    def finding(kind: IssueKind, detail: str, *, judged: bool = False) -> TermIssue:
        return TermIssue(
            kind=kind,
            label=term.label,
            ontology=ontology,
            identity=identity,
            detail=detail,
            known=judged,
        )

    concept, edition = index.concept(identity), index.edition_of(identity)
    if concept is None or edition is None or edition.ontology != ontology:
        yield finding(IssueKind.MISSING, f"not in this edition of {TITLES[ontology]}")
        return
    if canonical(identity) not in (concept.id, concept.code):
        yield finding(IssueKind.OBSOLETE, f"replaced by {_name(concept)}")
    elif concept.obsolete:
        consider = f"; consider {', '.join(concept.consider)}" if concept.consider else ""
        detail = f"withdrawn without a successor, was {concept.label!r}{consider}"
        yield finding(IssueKind.OBSOLETE, detail)
    if concept.residual:
        judged = match != EXACT and RESIDUAL_NOTE in term.note
        yield finding(
            IssueKind.RESIDUAL, f"{_name(concept)} holds what is left over", judged=judged
        )
    if match == EXACT and not _reads_alike(term.name, index.spellings(identity)):
        judged = TITLES[ontology] in _judged_wordings(term.note)
        yield finding(
            IssueKind.WORDING, f"{term.name!r} here, {_name(concept)} there", judged=judged
        )


def _check_shared(
    ontology: str, labels: dict[str, list[str]], relations: Relations
) -> Iterator[TermIssue]:
    synonyms = {
        frozenset((row.label_a, row.label_b)) for row in relations.rows if row.relation == "same as"
    }
    for identity, sharing in labels.items():
        for label, other in combinations(sharing, 2):
            if frozenset((label, other)) not in synonyms:
                yield TermIssue(
                    kind=IssueKind.SHARED,
                    label=label,
                    ontology=ontology,
                    identity=identity,
                    detail=f"exact for {other!r} too; write 'same as', or correct a closeness",
                )


def _check_kinds(
    ontology: str, labels: dict[str, list[str]], relations: Relations, index: OntologyIndex
) -> Iterator[TermIssue]:
    """Compare every is_a between two of our labels with the relation table."""
    for identity, special in labels.items():
        for above in sorted(index.ancestors(identity) & labels.keys()):
            for label in special:
                for general in labels[above]:
                    if general not in relations.closure(label):
                        kind, detail = _judge_kind(label, general, relations)
                        yield TermIssue(
                            kind=kind,
                            label=label,
                            ontology=ontology,
                            identity=identity,
                            detail=f"a kind of {general!r} there; {detail}",
                        )


def _judge_kind(label: str, general: str, relations: Relations) -> tuple[IssueKind, str]:
    if relations.implied(label, general):
        return IssueKind.TURNED, "our table has it the other way round"
    if relations.excludes(label, general):
        return IssueKind.EXCLUDED, "our table says that both cannot be true"
    if relations.alike(label, general):
        return IssueKind.PROPOSED, "our table has them as look-alikes"
    return IssueKind.PROPOSED, "our table says nothing"


def _name(concept: Concept) -> str:
    return f"{concept.code or concept.id} {concept.label!r}"


def _reads_alike(name: str, spellings: frozenset[str]) -> bool:
    """Whether a name has the words of one of the others, ignoring abbreviations in parentheses."""
    words = content_words(_BRACKETS.sub(" ", name))
    return any(content_words(spelling) == words for spelling in spellings)


def _judged_wordings(note: str) -> frozenset[str]:
    """Return the ontologies that a note lists after ``OTHER_WORDING``."""
    _, _, names = note.partition(OTHER_WORDING)
    return frozenset(name.strip() for name in names.partition(";")[0].split(","))
