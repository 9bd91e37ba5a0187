"""Compile parsed ontologies to one SQLite index file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.files.atomic import replacing
from medrcube.ontologies.concept_records import Edition, Ontology
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index.hierarchy import ConceptHierarchy
from medrcube.ontologies.index.name_normalization import canonical, spelling
from medrcube.ontologies.index.schema import (
    APPLICATION,
    INDEXES,
    LABEL,
    SCHEMA,
    TABLES,
    IndexFileError,
    NoIndexError,
)
from medrcube.ontologies.readers.edition_metadata import make_edition

__all__ = ["EPOCH_MODULES", "OntologyInput", "compile_index", "up_to_date"]

EPOCH_MODULES = (
    *("concept_records.py", "licences.py", "label_words.py", "readers/*.py"),
    *("index/compile.py", "index/schema.py", "index/hierarchy.py", "index/name_normalization.py"),
)
"""Globs of the modules whose code determines the content of an index; each matches a file."""


def compile_index(path: Path, ontologies: Iterable[Ontology]) -> None:
    """Write an index, replacing the file at ``path`` once it is complete.

    Args:
        path: file to write.
        ontologies: output of the readers, mapping tables last. Consumed one at a time, so that a
            generator keeps only one in memory.

    Raises:
        NoIndexError: the file at ``path`` is not an index.
        WorkspaceError: the file cannot be written, or one ontology is given twice.
    """
    _refuse_to_replace_others(path)
    try:
        with replacing(path) as temporary, closing(sqlite3.connect(temporary)) as database:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {SCHEMA}")
            database.executescript(TABLES)
            _fill(database, ontologies)
            database.executescript(INDEXES)
            database.commit()
    except sqlite3.Error as error:
        raise WorkspaceError(
            f"{path}: the index cannot be written ({error}); is the disk full?"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class OntologyInput:
    """An input file for an index.

    Attributes:
        ontology: the ontology it must contain; ``sssom`` for a mapping table.
        path: the file, or the folder of ICD-API entities.
        version: as the user states it; empty to use the one stated in the file.
    """

    ontology: str
    path: Path
    version: str = ""


def up_to_date(path: Path, inputs: Iterable[OntologyInput]) -> bool:
    """Whether the index at ``path`` is what compiling these files would produce.

    Args:
        path: an index, existing or not.
        inputs: input files in compilation order.

    Raises:
        NoIndexError: the file at ``path`` is not an index.
        OSError: a file cannot be read.
    """
    _refuse_to_replace_others(path)
    try:
        with OntologyIndex(path) as index:
            if index.epoch != epoch():
                return False
            editions = index.editions
    except IndexFileError:
        return False
    inputs_in_order = tuple(inputs)
    return len(inputs_in_order) == len(editions) and all(map(_holds, editions, inputs_in_order))


@cache
def epoch() -> str:
    """Version of readers and compiler: a hash of their code, so that it is never forgotten."""
    folder = Path(str(files("medrcube.ontologies")))
    digest = hashlib.sha256()
    for module in sorted(path for glob in EPOCH_MODULES for path in folder.glob(glob)):
        digest.update(f"{module.name}\0".encode() + module.read_bytes())
    return digest.hexdigest()


def _holds(edition: Edition, file: OntologyInput) -> bool:
    present = make_edition(file.path, file.ontology)
    return (edition.ontology, edition.file, edition.sha256) == (
        file.ontology,
        present.file,
        present.sha256,
    ) and file.version in {"", edition.version}


def _refuse_to_replace_others(path: Path) -> None:
    try:
        OntologyIndex(path).close()
    except NoIndexError:
        raise
    except IndexFileError:
        return


def _fill(database: sqlite3.Connection, ontologies: Iterable[Ontology]) -> None:
    editions: list[Edition] = []
    ontology_of_key: dict[str, str] = {}
    for ontology in ontologies:
        edition = ontology.edition
        if ontology.concepts and edition.ontology in {other.ontology for other in editions}:
            raise WorkspaceError(
                f"{edition.file}: the index holds a file of {edition.ontology} already; an index "
                "holds one edition of each ontology"
            )
        editions.append(edition)
        tree = ConceptHierarchy(ontology.concepts, ontology_of_key, start=len(ontology_of_key) + 1)
        ontology_of_key.update(dict.fromkeys(tree.keys, edition.ontology))
        _write(database, len(editions), tree, ontology)
    identity = [
        [epoch(), SCHEMA],
        *(
            [edition.ontology, edition.version, edition.file, edition.sha256]
            for edition in editions
        ),
    ]
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    rows = [("epoch", epoch()), ("digest", digest)]
    database.executemany("INSERT INTO meta VALUES (?, ?)", rows)


def _write(
    database: sqlite3.Connection, number: int, tree: ConceptHierarchy, ontology: Ontology
) -> None:
    names = list(_names(tree))
    mappings = {
        (
            _own_id(database, mapping.subject),
            mapping.predicate.strip(),
            _own_id(database, mapping.object),
        )
        for mapping in ontology.mappings
    }
    contents = tree.contents()
    database.executemany(
        "INSERT INTO concept VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                *(
                    key,
                    number,
                    concept.id,
                    concept.label,
                    concept.code,
                    concept.obsolete,
                    concept.residual,
                ),
                *(concept.kind, concept.chapter, json.dumps(concept.consider), contents[key]),
            )
            for key, concept in tree.concepts.items()
        ),
    )
    database.executemany(
        "INSERT INTO name (concept, text, spelling, scope, type) VALUES (?, ?, ?, ?, ?)", names
    )
    database.executemany("INSERT OR IGNORE INTO edge VALUES (?, ?, ?)", tree.edges)
    database.executemany("INSERT OR IGNORE INTO redirect VALUES (?, ?)", tree.redirects.items())
    database.executemany(
        "INSERT INTO closure VALUES (?, ?)",
        ((key, above) for key, ancestors in tree.closures.items() for above in sorted(ancestors)),
    )
    database.executemany("INSERT OR IGNORE INTO mapping VALUES (?, ?, ?)", sorted(mappings))
    edition = ontology.edition
    database.execute(
        "INSERT INTO edition VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            edition.ontology,
            edition.version,
            edition.file,
            edition.sha256,
            edition.licence,
            edition.statement,
            json.dumps([*edition.remarks, *tree.remarks()], ensure_ascii=False),
            len(tree.concepts),
            len(names),
            sum(concept.obsolete for concept in tree.concepts.values()),
            len(mappings),
        ),
    )


def _own_id(database: sqlite3.Connection, identity: str) -> str:
    """Convert an id of a mapping to the concept's own id, if the index contains the concept."""
    text = canonical(identity)
    row = database.execute(
        "SELECT concept.id FROM redirect JOIN concept ON concept.key = redirect.concept "
        "WHERE redirect.id = ?",
        (text,),
    ).fetchone()
    return text if row is None else str(row[0])


def _names(tree: ConceptHierarchy) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield every name once per scope, except labels that are just the id."""
    for key, concept in tree.concepts.items():
        scopes = {(concept.label, LABEL): ""} if concept.label != concept.id else {}
        for synonym in concept.synonyms:
            if synonym.text != concept.label:
                scopes.setdefault((synonym.text, synonym.scope.value), synonym.type)
        for (text, scope), kind in scopes.items():
            yield key, text, spelling(text), scope, kind
