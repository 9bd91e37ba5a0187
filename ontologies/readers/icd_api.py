"""Reader: ICD-11 as ICD-API version 2 JSON-LD, one object per entity.

A file may contain one object, a list, or concatenated objects; in a folder, each ``.json`` file is
one of these. Linearization entities have a code and one parent, foundation entities have several.
Only this format has exclusion lists: an excluded concept is near, but a different one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from medrcube.ontologies.concept_records import (
    ICD11,
    Concept,
    Edge,
    Ontology,
    OntologyError,
    Synonym,
    SynonymScope,
)
from medrcube.ontologies.readers.bounded_files import open_text
from medrcube.ontologies.readers.edition_metadata import (
    first_few,
    make_edition,
    remark_broken,
    with_stubs,
)
from medrcube.ontologies.readers.icd_table import RELEASE, RESIDUAL, entity_of

__all__ = ["read"]

EXCLUSION = "exclusion"
_BETWEEN = re.compile(r"[\s,\[\]]*")
_NAMES = (
    ("synonym", SynonymScope.EXACT, ""),
    ("inclusion", SynonymScope.NARROW, "inclusion"),
    ("narrowerTerm", SynonymScope.NARROW, "narrower"),
    ("indexTerm", SynonymScope.RELATED, "index"),
)


def read(path: Path, *, version: str = "") -> Ontology:
    """Read ICD-API entities.

    Raises:
        OntologyError: a file cannot be read, is not JSON, or contains no ICD-11 entity.
    """
    concepts_by_uri: dict[str, Concept] = {}
    twice: list[str] = []
    release = ""
    for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
        for entity in _objects(file):
            uri = _string(entity.get("@id"))
            release = release or _release(entity, uri)
            if uri in concepts_by_uri:
                twice.append(uri)
            elif entity_of(uri):
                concepts_by_uri[uri] = _concept(uri, entity)
    if not concepts_by_uri:
        raise OntologyError(
            f'{path}: holds no object with an ICD-11 entity in "@id"; expected what the ICD-API '
            "answers (version 2, JSON-LD), one object for each entity"
        )
    remarks: list[str] = []
    if twice:
        remarks.append(f"{len(twice)} entities stand twice; the first is kept: {first_few(twice)}.")
    concepts = _resolved(concepts_by_uri)
    foreign = [concept.id for concept in concepts if concept.label == concept.id]
    if foreign:
        remarks.append(f"{len(foreign)} entities have no English title: {first_few(foreign)}.")
    remark_broken(concepts, remarks)
    whole = with_stubs(concepts, remarks)
    edition = make_edition(path, ICD11, version=version or release, remarks=remarks)
    return Ontology(edition=edition, concepts=whole)


def _objects(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a file one at a time."""
    with open_text(path) as file:
        text = file.read()
    if text.lstrip().startswith("[") and not text.rstrip().endswith("]"):
        raise OntologyError(f"{path}: is a list that is cut short; get the file again")
    decoder = json.JSONDecoder()
    position = _skip(text, 0)
    while position < len(text):
        try:
            entity, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, position) + 1
            raise OntologyError(
                f"{path}: the object at line {line} is not JSON ({error}); get the file again"
            ) from error
        if not isinstance(entity, dict):
            raise OntologyError(
                f"{path}: holds {type(entity).__name__} where an object was expected; expected "
                "one object for each ICD-11 entity"
            )
        yield entity
        position = _skip(text, end)


def _skip(text: str, position: int) -> int:
    match = _BETWEEN.match(text, position)
    return match.end() if match else position


def _concept(uri: str, entity: Mapping[str, Any]) -> Concept:
    """Parse one entity, leaving the references of its edges unresolved."""
    code = _string(entity.get("code"))
    source = _string(entity.get("source"))
    word = entity_of(uri).rpartition("/")[2]
    residual = word in RESIDUAL
    title = _english(entity.get("title"))
    synonyms = [
        Synonym(text=text, scope=scope, type=kind)
        for name, scope, kind in _NAMES
        for item in _list(entity.get(name))
        if isinstance(item, dict) and (text := _english(item.get("label"))) and text != title
    ]
    edges = [Edge(target=_string(parent)) for parent in _list(entity.get("parent"))]
    for item in _list(entity.get(EXCLUSION)):
        if isinstance(item, dict):
            target = item.get("linearizationReference") or item.get("foundationReference")
            edges.append(Edge(target=_string(target), relation=EXCLUSION))
    return Concept(
        id=uri,
        label=title or uri,
        synonyms=tuple(dict.fromkeys(synonyms)),
        edges=tuple(edges),
        code=code,
        alt_ids=(source,) if source and source != uri and not residual else (),
        residual=residual,
        kind=_string(entity.get("classKind")).lower(),
    )


def _resolved(concepts: Mapping[str, Concept]) -> list[Concept]:
    """Return the concepts with every reference resolved to a concept id if possible.

    A linearization references foundation entities, and the root is not a concept.
    """
    by_entity: dict[str, str] = {}
    for uri in concepts:
        by_entity.setdefault(entity_of(uri), uri)

    def resolve(edge: Edge) -> Edge:
        if edge.target in concepts:
            return edge
        return replace(edge, target=by_entity.get(entity_of(edge.target), edge.target))

    resolved: list[Concept] = []
    for concept in concepts.values():
        edges = dict.fromkeys(resolve(edge) for edge in concept.edges if entity_of(edge.target))
        resolved.append(replace(concept, edges=tuple(edges)))
    return resolved


def _english(value: object) -> str:
    """Return the English text of a language value, or of the first English one in a list."""
    for item in _list(value):
        if isinstance(item, str):
            return " ".join(item.split())
        if isinstance(item, dict):
            language = _string(item.get("@language")).casefold()
            if language in {"", "en"} or language.startswith("en-"):
                return " ".join(_string(item.get("@value")).split())
    return ""


def _release(entity: Mapping[str, Any], uri: str) -> str:
    match = RELEASE.search(uri + "/")
    return match[1] if match else _string(entity.get("releaseId"))


def _list(value: object) -> Sequence[object]:
    if value is None:
        return ()
    return value if isinstance(value, list) else [value]


def _string(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
