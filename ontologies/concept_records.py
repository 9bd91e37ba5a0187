"""Records that every ontology reader returns: edition, concepts, mappings.

``hpo``, ``radlex`` and ``icd11`` are the ontologies; ids are written as their owners write them:
``HP:0002202``, ``RID34539``, and for ICD-11 the URI of the linearization or foundation entity,
whose MMS code stands in ``Concept.code``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from medrcube.errors import MedrcubeError

__all__ = [
    "HPO",
    "ICD11",
    "IS_A",
    "ONTOLOGIES",
    "RADLEX",
    "SSSOM",
    "UNKNOWN",
    "Concept",
    "ConceptMapping",
    "Edge",
    "Edition",
    "Ontology",
    "OntologyError",
    "Synonym",
    "SynonymScope",
    "has_lost_character",
]

HPO = "hpo"
RADLEX = "radlex"
ICD11 = "icd11"
SSSOM = "sssom"
ONTOLOGIES = (HPO, RADLEX, ICD11)
IS_A = "is_a"
UNKNOWN = "unknown"
"""Version of an edition that neither its file nor the name of the file tells."""


class OntologyError(MedrcubeError, ValueError):
    """An ontology file cannot be read; names the file, what was found, and what is accepted."""


_LOST = re.compile("\N{REPLACEMENT CHARACTER}|\\?(?=\\w)")


def has_lost_character(text: str) -> bool:
    """Whether a character of a name was lost before we got it.

    RSNA's 2017 table has the replacement character in two names, and a question mark in place of
    an apostrophe or a sign in thirteen.
    """
    return _LOST.search(text) is not None


class SynonymScope(StrEnum):
    """How close a synonym is to its concept, in the words of the OBO format."""

    EXACT = "EXACT"
    BROAD = "BROAD"
    NARROW = "NARROW"
    RELATED = "RELATED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    """Another name of a concept.

    Attributes:
        text: the name, unchanged.
        scope: how close it is.
        type: what sort of name it is, in the words of its owner (``layperson``, ``abbreviation``,
            ``obsolete_synonym``, ``inclusion``), or empty.
    """

    text: str
    scope: SynonymScope = SynonymScope.EXACT
    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation to another concept; ``relation`` is ``is_a`` or the ontology's own name."""

    target: str
    relation: str = IS_A


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """One class of an ontology.

    Attributes:
        id: identity within its ontology.
        label: preferred English name; where the file gives none, the id itself.
        synonyms: other English names.
        edges: parents (``is_a``) and other relations.
        code: code by which people know it (ICD-11 MMS), or empty.
        obsolete: whether its owner has withdrawn it.
        replaced_by: ids that stand in its place; whoever meets the old id may take them.
        consider: ids that may stand in its place, when a person agrees.
        alt_ids: other ids that mean this concept: those merged into it, and in ICD-11 the URI of
            the foundation entity.
        residual: whether it is a rest class ("other specified", "unspecified").
        kind: ``chapter``, ``block`` or ``category`` (ICD-11), or empty.
        chapter: chapter that it stands in (ICD-11), or empty.
    """

    id: str
    label: str
    synonyms: tuple[Synonym, ...] = ()
    edges: tuple[Edge, ...] = ()
    code: str = ""
    obsolete: bool = False
    replaced_by: tuple[str, ...] = ()
    consider: tuple[str, ...] = ()
    alt_ids: tuple[str, ...] = ()
    residual: bool = False
    kind: str = ""
    chapter: str = ""

    @property
    def presentable(self) -> bool:
        """Whether the label is a name that can be shown, with no character lost in the file."""
        return self.label != self.id and not has_lost_character(self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One file of one ontology, as a user has it.

    Attributes:
        ontology: ``hpo``, ``radlex`` or ``icd11``; for mappings, ``sssom``.
        version: as the file states it; where it states none, what its name says, or ``unknown``.
        file: name of the file, without its folder.
        sha256: digest of the file; of a folder, digest of the names and digests of its files.
        licence: short name of the licence.
        statement: what the licence asks every user to carry, word for word.
        remarks: what the reader mended or left out, one sentence each.
    """

    ontology: str
    version: str
    file: str
    sha256: str
    licence: str
    statement: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptMapping:
    """A pair of an SSSOM table: two ids of different ontologies, as concepts carry them.

    Ids of ontologies that no reader knows stay as the table writes them (``MONDO:0000004``).
    """

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ontology:
    """What a reader made of one file; ``mappings`` only where the file is a mapping table."""

    edition: Edition
    concepts: tuple[Concept, ...] = ()
    mappings: tuple[ConceptMapping, ...] = ()
