"""Fixtures of the index: invented concepts, compiled as the command does."""

import pytest

from medrcube.ontologies.concept_records import (
    Concept,
    ConceptMapping,
    Edge,
    Edition,
    Ontology,
    Synonym,
    SynonymScope,
)
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index.compile import compile_index


@pytest.fixture
def concept():
    """``concept("HP:1", "name", "HP:2", also=("other name",))``: parents follow the label."""

    def make(identity, label, *parents, also=(), scope=SynonymScope.EXACT, related=(), **values):
        edges = [Edge(target=parent) for parent in parents]
        edges += [Edge(target=target, relation=relation) for relation, target in related]
        synonyms = tuple(Synonym(text=text, scope=scope) for text in also)
        return Concept(id=identity, label=label, synonyms=synonyms, edges=tuple(edges), **values)

    return make


@pytest.fixture
def ontology():
    """``ontology("hpo", [concept, ...])`` or ``ontology("sssom", mappings=[(a, p, b), ...])``."""

    def make(name, concepts=(), mappings=(), **values):
        stated = {"version": "1", "file": f"{name}.txt", "sha256": "0" * 64, **values}
        edition = Edition(
            ontology=name, licence=f"licence of {name}", statement=f"say {name}", **stated
        )
        rows = tuple(ConceptMapping(subject=a, predicate=p, object=b) for a, p, b in mappings)
        return Ontology(edition=edition, concepts=tuple(concepts), mappings=rows)

    return make


@pytest.fixture
def compiled(tmp_path, ontology):
    """``compiled(hpo=[...], radlex=[...], sssom=[...])`` -> an open index."""
    opened = []

    def make(*, sssom=(), **concepts):
        path = tmp_path / f"index{len(opened)}.sqlite3"
        files = [ontology(name, value) for name, value in concepts.items()]
        files += [ontology("sssom", mappings=sssom)] if sssom else []
        compile_index(path, files)
        opened.append(OntologyIndex(path))
        return opened[-1]

    yield make
    for index in opened:
        index.close()
