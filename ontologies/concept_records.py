"""Records that every ontology reader returns: edition, concepts, mappings.

The ontologies are ``hpo``, ``radlex`` and ``icd11``; ids are in their publishers' notation:
``HP:0002202``, ``RID34539``, and for ICD-11 the URI of the linearization or foundation entity, with
the MMS code in ``Concept.code``.
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
"""Version of an edition that neither the file nor its name states."""


class OntologyError(MedrcubeError, ValueError):
    """An ontology file cannot be read; names the file, what was found, and what is accepted."""


_LOST = re.compile("\N{REPLACEMENT CHARACTER}|\\?(?=\\w)")


def has_lost_character(text: str) -> bool:
    """Whether a name contains a character that was corrupted in the published file.

    RSNA's 2017 table has the replacement character in two names, and a question mark in place of
    an apostrophe or a sign in thirteen.
    """
    return _LOST.search(text) is not None


class SynonymScope(StrEnum):
    """How close a synonym is to its concept, in OBO terms."""

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
        type: the publisher's synonym type (``layperson``, ``abbreviation``, ``obsolete_synonym``,
            ``inclusion``), or empty.
    """

    text: str
    scope: SynonymScope = SynonymScope.EXACT
    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation to another concept; ``relation`` is ``is_a`` or the ontology's own name for it."""

    target: str
    relation: str = IS_A


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """One class of an ontology.

    Attributes:
        id: its id, unique within the ontology.
        label: preferred English name, or the id itself if the file has none.
        synonyms: other English names.
        edges: parents (``is_a``) and other relations.
        code: human-readable code (ICD-11 MMS), or empty.
        obsolete: whether the publisher has withdrawn it.
        replaced_by: ids that replace it; may be substituted automatically.
        consider: ids that may replace it, subject to a human decision.
        alt_ids: other ids of this concept: those merged into it, and in ICD-11 the URI of the
            foundation entity.
        residual: whether it is a residual category ("other specified", "unspecified").
        kind: ``chapter``, ``block`` or ``category`` (ICD-11), or empty.
        chapter: chapter it belongs to (ICD-11), or empty.
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
        """Whether the label can be displayed: it is a name, without corrupted characters."""
        return self.label != self.id and not has_lost_character(self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One file of one ontology, as the user has it.

    Attributes:
        ontology: ``hpo``, ``radlex`` or ``icd11``; for mappings, ``sssom``.
        version: as the file states it; otherwise from the file name, or ``unknown``.
        file: name of the file, without its folder.
        sha256: digest of the file; for a folder, digest of its file names and their digests.
        licence: short name of the licence.
        statement: notice that the licence requires every user to include, verbatim.
        remarks: what the reader repaired or skipped, one sentence each.
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
    """A pair from an SSSOM table: two ids of different ontologies, in the notation of concepts.

    Ids of ontologies without a reader are kept as in the table (``MONDO:0000004``).
    """

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ontology:
    """The parsed content of one file; ``mappings`` is set only for a mapping table."""

    edition: Edition
    concepts: tuple[Concept, ...] = ()
    mappings: tuple[ConceptMapping, ...] = ()
