"""Full record of one concept, as JSON values."""

from __future__ import annotations

from typing import Any

from medrcube.ontologies.concept_records import IS_A
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import Terms, load_terms

__all__ = ["describe"]


def describe(index: OntologyIndex, identity: str) -> dict[str, Any] | None:
    """Describe one concept with its neighbours, and the labels of ``terms.csv`` that refer to it.

    Args:
        index: an opened index.
        identity: any form of its id, or an ICD-11 code.

    Returns:
        JSON-serialisable values; ``None`` if the index does not contain the id.

    Raises:
        TermError: a table of this package breaks its rules.
    """
    concept, edition = index.concept(identity), index.edition_of(identity)
    if concept is None or edition is None:
        return None
    labels = _labels(index, concept.id, edition.ontology, load_terms())
    names = {label["label"] for label in labels}
    return {
        "asked": identity.strip(),
        "id": concept.id,
        "code": concept.code,
        "name": concept.label,
        "obsolete": concept.obsolete,
        "residual": concept.residual,
        "content": index.content(concept.id),
        "synonyms": [
            {"name": synonym.text, "scope": synonym.scope.value} for synonym in concept.synonyms
        ],
        "alternative_ids": list(concept.alt_ids),
        "consider": [_entry(index, other) for other in concept.consider],
        "parents": [_entry(index, other) for other in index.parents(concept.id)],
        "children": [_entry(index, other) for other in index.children(concept.id)],
        "related": [
            {"relation": edge.relation, **_entry(index, edge.target)}
            for edge in concept.edges
            if edge.relation != IS_A
        ],
        "labels": labels,
        "relations": [
            {
                "label_a": row.label_a,
                "relation": row.relation,
                "label_b": row.label_b,
                "reason": row.reason,
            }
            for row in load_relations().rows
            if not names.isdisjoint((row.label_a, row.label_b))
        ],
        "mappings": [
            {"subject": mapping.subject, "predicate": mapping.predicate, "object": mapping.object}
            for mapping in index.mapped(concept.id)
        ],
        "edition": {
            "ontology": edition.ontology,
            "version": edition.version,
            "file": edition.file,
            "licence": edition.licence,
            "statement": edition.statement,
        },
    }


def _entry(index: OntologyIndex, identity: str) -> dict[str, str]:
    concept = index.concept(identity)
    if concept is None:
        return {"id": identity, "code": "", "name": ""}
    return {"id": concept.id, "code": concept.code, "name": concept.label}


def _labels(
    index: OntologyIndex, identity: str, ontology: str, terms: Terms
) -> list[dict[str, str]]:
    labels = []
    for term in terms.values():
        own, match = term.matches().get(ontology, ("", ""))
        if own and index.resolve(own) == identity:
            labels.append(
                {"label": term.label, "kind": term.kind, "name": term.name, "match": match}
            )
    return labels
