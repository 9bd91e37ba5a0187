"""Reader: RadLex as RDF/XML, using rdflib with the Oxigraph store.

rdflib's own store takes half a minute for what Oxigraph does in a second. Statements are collected
by subject: RadLex puts labels of some classes into an ``rdf:Description`` far from their
``owl:Class``.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from medrcube.errors import MissingExtraError
from medrcube.ontologies.concept_records import IS_A, Ontology, OntologyError
from medrcube.ontologies.readers.bounded_files import open_bytes
from medrcube.ontologies.readers.radlex_classes import (
    NAMES,
    REPLACED_BY,
    RadlexClass,
    local_name,
    make_radlex,
    rid_of,
    rids_in,
)
from medrcube.ontologies.readers.xml_limits import GuardedXml

try:
    from oxrdflib.store import OxigraphStore
    from rdflib import OWL, RDF, RDFS, Graph, Literal, URIRef
    from rdflib.query import ResultRow
    from rdflib.term import Node
except ImportError as error:
    raise MissingExtraError("oxrdflib", "ontologies") from error

__all__ = ["read"]

BASE = "http://www.radlex.org/RID/"
_W3C = "http://www.w3.org/"
_PREDICATES = "SELECT DISTINCT ?p WHERE { ?s ?p ?o }"
_RELATIONS = "SELECT DISTINCT ?p WHERE { ?s ?p ?o FILTER(isIRI(?s) && isIRI(?o)) }"
_RESTRICTIONS = f"""
SELECT ?class ?property ?target WHERE {{
  ?class <{RDFS.subClassOf}> ?restriction .
  ?restriction <{OWL.onProperty}> ?property ; <{OWL.someValuesFrom}> ?target .
}}
"""


def read(path: Path, *, version: str = "") -> Ontology:
    """Read RadLex from RDF/XML.

    Raises:
        OntologyError: the file cannot be read, is not RDF/XML, or contains no RadLex class.
        MissingExtraError: rdflib or oxrdflib is not installed.
    """
    graph = _load(path)
    try:
        entries = _entries(graph)
        graph_version = version or _version(graph)
    finally:
        graph.close()
    concepts = [entries[rid].concept(rid) for rid in sorted(entries, key=_number)]
    return make_radlex(path, concepts, [], graph_version)


def _load(path: Path) -> Graph:
    graph = Graph(store=OxigraphStore())
    with open_bytes(path) as file:
        guarded = io.BufferedReader(GuardedXml(file, path), buffer_size=1 << 20)
        try:
            graph.parse(guarded, format="ox-xml", publicID=BASE)
        except SyntaxError as error:
            raise OntologyError(
                f"{path} is not RDF/XML ({error}); get the file again, as UTF-8"
            ) from error
    return graph


def _entries(graph: Graph) -> dict[str, RadlexClass]:
    """Collect the statements about every subject with a RadLex id, in deterministic order."""
    entries: dict[str, RadlexClass] = defaultdict(RadlexClass)
    for declared in graph.subjects(RDF.type, OWL.Class):
        if rid := rid_of(str(declared)):
            entries[rid] = RadlexClass()
    for predicate in sorted(str(row[0]) for row in _rows(graph, _PREDICATES)):
        _add_texts(graph, predicate, entries)
    for predicate in sorted(str(row[0]) for row in _rows(graph, _RELATIONS)):
        _add_edges(graph, predicate, entries)
    restrictions = ((str(s), str(p), str(o)) for s, p, o in _rows(graph, _RESTRICTIONS))
    for subject, prop, value in sorted(restrictions):
        if (rid := rid_of(subject)) and (target := rid_of(value)):
            entries[rid].relate(target, local_name(prop))
    return entries


def _add_texts(graph: Graph, predicate: str, entries: dict[str, RadlexClass]) -> None:
    name = local_name(predicate)
    if name in NAMES:
        for rid, _, text in sorted(_english(graph, predicate)):
            entries[rid].say(name, text)
    elif name == REPLACED_BY:
        for rid, value in _values_of(graph, predicate):
            entries[rid].replaced_by += rids_in(str(value))
    elif predicate == str(OWL.deprecated):
        for rid, value in _values_of(graph, predicate):
            entries[rid].obsolete |= str(value).casefold() in {"true", "1"}


def _add_edges(graph: Graph, predicate: str, entries: dict[str, RadlexClass]) -> None:
    """Add edges from class to class; editions up to 3.x state relations this way."""
    relation = IS_A if predicate == str(RDFS.subClassOf) else local_name(predicate)
    if relation == REPLACED_BY or (relation != IS_A and predicate.startswith(_W3C)):
        return
    pairs = ((rid, rid_of(str(value))) for rid, value in _values_of(graph, predicate))
    for rid, target in sorted(pair for pair in pairs if pair[1]):
        entries[rid].relate(target, relation)


def _values_of(graph: Graph, predicate: str) -> Iterator[tuple[str, Node]]:
    """Yield subjects with a RadLex id, as ids, and the values of a property."""
    for subject, value in graph.subject_objects(URIRef(predicate)):
        if isinstance(subject, URIRef) and (rid := rid_of(str(subject))):
            yield rid, value


def _english(graph: Graph, predicate: str) -> Iterator[tuple[str, int, str]]:
    """Yield English texts, those tagged as English before those without a language tag."""
    for rid, value in _values_of(graph, predicate):
        if not isinstance(value, Literal):
            continue
        language = (value.language or "").casefold()
        if language in {"", "en"} or language.startswith("en-"):
            yield rid, ("en", "").index(language) if language in {"en", ""} else 2, str(value)


def _rows(graph: Graph, query: str) -> Iterator[ResultRow]:
    return (cast("ResultRow", row) for row in graph.query(query))


def _version(graph: Graph) -> str:
    for ontology in sorted(graph.subjects(RDF.type, OWL.Ontology), key=str):
        for predicate in (OWL.versionInfo, OWL.versionIRI):
            for value in graph.objects(ontology, predicate):
                return str(value).strip()
    return ""


def _number(rid: str) -> int:
    return int(rid.removeprefix("RID"))
