"""What every ontology reader gives: an edition and its concepts, whatever the file format.

``hpo``, ``radlex`` and ``icd11`` are the ontologies; ids are written as their owners write them:
``HP:0002202``, ``RID34539``, and for ICD-11 the URI of the linearization or foundation entity,
whose MMS code stands in ``Concept.code``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

HPO = "hpo"
RADLEX = "radlex"
ICD11 = "icd11"
ONTOLOGIES = (HPO, RADLEX, ICD11)
IS_A = "is_a"


class Scope(StrEnum):
    """How close a synonym is to its concept, in the words of the OBO format."""

    EXACT = "EXACT"
    BROAD = "BROAD"
    NARROW = "NARROW"
    RELATED = "RELATED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    """Another name of a concept."""

    text: str
    scope: Scope = Scope.EXACT


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
        label: preferred English name.
        synonyms: other English names.
        edges: parents (``is_a``) and other relations.
        code: code by which people know it (ICD-11 MMS), or empty.
        obsolete: whether its owner has withdrawn it.
        replaced_by: ids that stand in its place, in the owner's order; also its alternative ids
            point here the other way, by ``alt_ids``.
        alt_ids: ids that once were concepts of their own and now mean this one.
        residual: whether it is a rest class ("other specified", "unspecified").
    """

    id: str
    label: str
    synonyms: tuple[Synonym, ...] = ()
    edges: tuple[Edge, ...] = ()
    code: str = ""
    obsolete: bool = False
    replaced_by: tuple[str, ...] = ()
    alt_ids: tuple[str, ...] = ()
    residual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One file of one ontology, as a user has it.

    Attributes:
        ontology: ``hpo``, ``radlex`` or ``icd11``; for mappings, ``sssom``.
        version: as the file states it; where it states none, what its name says.
        file: name of the file, without its folder.
        sha256: digest of the file.
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
class Mapping:
    """A pair of an SSSOM table: two ids of different ontologies."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ontology:
    """What a reader made of one file; ``mappings`` only where the file is a mapping table."""

    edition: Edition
    concepts: tuple[Concept, ...] = ()
    mappings: tuple[Mapping, ...] = ()
