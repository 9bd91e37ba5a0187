"""RadLex classes, assembled from the statements of any RadLex file format.

Property names are the same in RDF/XML and in BioPortal's CSV: ``Preferred_name``, ``Synonym``,
``Acronym``, ``Preferred_Name_for_Obsolete``, ``Replaced_by``. In editions up to 3.x the label is
the RID itself, and ``Is_A`` repeats the parents. Definitions are not read: they quote third parties
who did not license them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from medrcube.ontologies.concept_records import (
    IS_A,
    RADLEX,
    Concept,
    Edge,
    Ontology,
    OntologyError,
    Synonym,
)
from medrcube.ontologies.readers.edition_metadata import (
    first_few,
    make_edition,
    remark_broken,
    remark_shared,
    with_stubs,
)

__all__ = [
    "LABEL",
    "NAMES",
    "REPLACED_BY",
    "SYNONYM",
    "RadlexClass",
    "local_name",
    "make_radlex",
    "rid_of",
    "rids_in",
]

LABEL = "label"
PREFERRED = "Preferred_name"
SYNONYM = "Synonym"
ACRONYM = "Acronym"
OBSOLETE_NAME = "Preferred_Name_for_Obsolete"
REPLACED_BY = "Replaced_by"
NAMES = (LABEL, PREFERRED, SYNONYM, ACRONYM, OBSOLETE_NAME)
ABBREVIATION = "abbreviation"
OBSOLETE_ROOT = "RID15849"
"""The class "Obsolete Radlex Term"; in older editions withdrawn terms are below it."""

_RID = re.compile(r"(RID\d+)/?$")
_RIDS = re.compile(r"\bRID\d+\b")


def rid_of(iri: str) -> str:
    """Return the id at the end of any form of IRI, or a bare id; empty for anything else."""
    match = _RID.search(iri.strip())
    return match[1] if match else ""


def rids_in(text: str) -> list[str]:
    """Return all ids in a text, such as the replacements of a withdrawn class."""
    return _RIDS.findall(text)


def local_name(iri: str) -> str:
    """Return the name of a property from any form of its IRI."""
    return re.split(r"[/#]", iri)[-1]


@dataclass(slots=True)
class RadlexClass:
    """Statements about one class, by property; English texts only."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    replaced_by: list[str] = field(default_factory=list)
    obsolete: bool = False

    def say(self, name: str, text: str) -> None:
        """Add a name."""
        cleaned = " ".join(text.split())
        if cleaned:
            self.texts.setdefault(name, []).append(cleaned)

    def relate(self, target: str, relation: str) -> None:
        """Add a parent or a relation; ``Is_A`` is a synonym of parent."""
        relation = IS_A if relation.casefold() == IS_A else relation
        self.edges.setdefault(Edge(target=target, relation=relation))

    def concept(self, rid: str) -> Concept:
        """Return the class as a concept."""
        labels = self._texts(LABEL, PREFERRED, OBSOLETE_NAME)
        label = labels[0] if labels else rid
        names = [Synonym(text=text) for text in (*labels, *self._texts(SYNONYM))]
        names += [Synonym(text=text, type=ABBREVIATION) for text in self._texts(ACRONYM)]
        synonyms: dict[str, Synonym] = {}
        for name in names:
            if name.text != label:
                synonyms.setdefault(name.text, name)
        return Concept(
            id=rid,
            label=label,
            synonyms=tuple(synonyms.values()),
            edges=tuple(self.edges),
            obsolete=self.obsolete or OBSOLETE_NAME in self.texts or bool(self.replaced_by),
            replaced_by=tuple(dict.fromkeys(self.replaced_by)),
        )

    def _texts(self, *names: str) -> list[str]:
        """Return the texts of some properties, without the RID that old editions use as a name."""
        return [text for name in names for text in self.texts.get(name, ()) if rid_of(text) != text]


def make_radlex(
    path: Path, concepts: Sequence[Concept], remarks: list[str], version: str
) -> Ontology:
    """Build the ontology of a file, with withdrawn branches marked and missing parents stubbed.

    Raises:
        OntologyError: there is no concept.
    """
    if not concepts:
        raise OntologyError(
            f"{path}: holds no class with a RadLex id (RID and a number); expected RadLex. HPO is "
            "accepted as OBO (hp.obo), ICD-11 as WHO's table"
        )
    with_marks = _mark_obsolete(concepts)
    nameless = [concept.id for concept in with_marks if concept.label == concept.id]
    if nameless:
        remarks.append(f"{len(nameless)} classes have no English name: {first_few(nameless)}.")
    remark_broken(with_marks, remarks)
    remark_shared(with_marks, remarks)
    whole = with_stubs(with_marks, remarks)
    edition = make_edition(path, RADLEX, version=version, remarks=remarks)
    return Ontology(edition=edition, concepts=whole)


def _mark_obsolete(concepts: Iterable[Concept]) -> list[Concept]:
    listed = list(concepts)
    children: dict[str, list[str]] = {}
    for concept in listed:
        for edge in concept.edges:
            if edge.relation == IS_A:
                children.setdefault(edge.target, []).append(concept.id)
    below: set[str] = set()
    waiting = [OBSOLETE_ROOT]
    while waiting:
        current = waiting.pop()
        if current not in below:
            below.add(current)
            waiting.extend(children.get(current, ()))
    return [replace(c, obsolete=True) if c.id in below else c for c in listed]
