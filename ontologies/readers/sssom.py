"""Reader: SSSOM mappings, a tab-separated table below a header of ``#`` lines.

Only positive mappings are read: a row with the modifier ``Not`` states that two ids do not match.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from medrcube.ontologies.concept_records import (
    SSSOM,
    ConceptMapping,
    Ontology,
    OntologyError,
)
from medrcube.ontologies.readers.bounded_files import TABLE_LIMIT, open_text
from medrcube.ontologies.readers.edition_metadata import make_edition, plain_version
from medrcube.ontologies.readers.radlex_classes import rid_of

__all__ = ["read"]

NEEDED = ("subject_id", "predicate_id", "object_id")
ICD_HOST = "id.who.int/icd/"


def read(path: Path, *, version: str = "") -> Ontology:
    """Read a mapping table.

    Raises:
        OntologyError: the file cannot be read, lacks a column, or contains no mapping.
    """
    remarks: list[str] = []
    with open_text(path, limit=TABLE_LIMIT) as file:
        header: list[str] = []
        first = ""
        for first in file:
            if not first.startswith("#"):
                break
            header.append(first)
        reader = csv.DictReader(chain([first], file), delimiter="\t")
        try:
            lacking = [name for name in NEEDED if name not in (reader.fieldnames or ())]
            if lacking:
                raise OntologyError(
                    f"{path}: has no column {', '.join(lacking)}; expected an SSSOM table with "
                    f"{', '.join(NEEDED)}"
                )
            mappings = tuple(_mappings(reader, _prefixes(header), remarks))
        except csv.Error as error:
            raise OntologyError(
                f"{path} is not a tab-separated table ({error}); get the file again"
            ) from error
    if not mappings:
        raise OntologyError(f"{path}: holds no mapping; expected rows with {', '.join(NEEDED)}")
    facts = _facts(header)
    if "license" not in facts:
        remarks.append("The header states no licence; ask where the table came from.")
    edition = make_edition(
        path,
        SSSOM,
        version=version or _version(facts),
        remarks=remarks,
        licence=facts.get("license", ""),
    )
    return Ontology(edition=edition, mappings=mappings)


def _mappings(
    rows: Iterable[Mapping[str, str | None]], prefixes: Mapping[str, str], remarks: list[str]
) -> Iterator[ConceptMapping]:
    negative = incomplete = 0
    for row in rows:
        subject, predicate, target = ((row.get(name) or "").strip() for name in NEEDED)
        if (row.get("predicate_modifier") or "").strip().casefold() == "not":
            negative += 1
        elif not (subject and predicate and target):
            incomplete += 1
        else:
            yield ConceptMapping(
                subject=_id(subject, prefixes), predicate=predicate, object=_id(target, prefixes)
            )
    if negative:
        remarks.append(f"{negative} rows say that two ids do not match and are left out.")
    if incomplete:
        remarks.append(f"{incomplete} rows lack an id or the predicate and are left out.")


def _id(curie: str, prefixes: Mapping[str, str]) -> str:
    """Return the id as concepts have it: a URI for ICD-11, bare RID for RadLex, else the CURIE."""
    prefix, colon, local = curie.partition(":")
    base = prefixes.get(prefix, "") if colon else ""
    if ICD_HOST in base:
        return base + local
    return rid_of(curie) or curie


def _facts(header: Iterable[str]) -> dict[str, str]:
    """Return the plain ``name: value`` lines of the header."""
    facts: dict[str, str] = {}
    for line in header:
        match = re.match(r"# ?(\w+):\s+(\S.*)", line)
        if match:
            facts[match[1]] = match[2].strip().strip("\"'")
    return facts


def _prefixes(header: Iterable[str]) -> dict[str, str]:
    """Return the header's ``curie_map``, whose lines are indented."""
    prefixes: dict[str, str] = {}
    for line in header:
        match = re.match(r"#\s{2,}([\w.-]+):\s+(\S+)", line)
        if match:
            prefixes[match[1]] = match[2].strip("\"'")
    return prefixes


def _version(facts: Mapping[str, str]) -> str:
    return plain_version(facts.get("mapping_set_version") or facts.get("mapping_date", ""))
