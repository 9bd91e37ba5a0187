"""Reader: RadLex as RSNA's comma-separated table of term, RID and parent RID.

With a header line (2014) or without (2017), in UTF-8 or Windows-1252, one parent per term, no
synonyms.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from medrcube.ontologies.concept_records import IS_A, Ontology, OntologyError
from medrcube.ontologies.readers.bounded_files import TABLE_LIMIT, UTF8, open_bytes, open_text
from medrcube.ontologies.readers.detect_format import (
    PARENT_COLUMNS,
    RID_COLUMNS,
    is_radlex_header,
    normalize_column,
)
from medrcube.ontologies.readers.edition_metadata import first_few
from medrcube.ontologies.readers.radlex_classes import LABEL, RadlexClass, make_radlex, rid_of

__all__ = ["read"]

FALLBACK = "cp1252"
"""Encoding of RSNA's 2014 table."""
TERM_COLUMNS = ("term", "name", "label", "preferredlabel", "preferredname")


def read(path: Path, *, version: str = "") -> Ontology:
    """Read a three-column RadLex table.

    Raises:
        OntologyError: the file cannot be read or has no row of term, RID and parent RID.
    """
    remarks: list[str] = []
    entries: dict[str, RadlexClass] = {}
    skipped: list[str] = []
    for line, term, rid, parent in _rows(path, remarks):
        if not term or not rid_of(rid):
            skipped.append(str(line))
            continue
        entry = entries.setdefault(rid_of(rid), RadlexClass())
        entry.say(LABEL, term)
        if above := rid_of(parent):
            entry.relate(above, IS_A)
    if skipped:
        remarks.append(
            f"{len(skipped)} rows without a term or a RID are left out: lines {first_few(skipped)}."
        )
    concepts = [entry.concept(rid) for rid, entry in entries.items()]
    return make_radlex(path, concepts, remarks, version)


def _rows(path: Path, remarks: list[str]) -> Iterator[tuple[int, str, str, str]]:
    encoding = _encoding(path)
    if encoding != UTF8:
        remarks.append("The table is not UTF-8; it is read as Windows-1252.")
    with open_text(path, encoding, TABLE_LIMIT) as file:
        reader = csv.reader(file)
        columns = (0, 1, 2)
        try:
            for cells in reader:
                if reader.line_num == 1 and is_radlex_header(cells):
                    columns = _columns(path, cells)
                elif cells:
                    padded = [cell.strip() for cell in cells] + [""] * max(columns)
                    term, rid, parent = (padded[column] for column in columns)
                    yield reader.line_num, term, rid, parent
        except csv.Error as error:
            raise OntologyError(
                f"{path}: line {reader.line_num} is not CSV ({error}); get the file again"
            ) from error


def _columns(path: Path, header: Sequence[str]) -> tuple[int, int, int]:
    names = [normalize_column(cell) for cell in header]
    places: list[int] = []
    for variants in (TERM_COLUMNS, RID_COLUMNS, PARENT_COLUMNS):
        matches = [names.index(name) for name in variants if name in names]
        if not matches:
            raise OntologyError(
                f"{path}: no column is named {' or '.join(variants)} (columns: "
                f"{', '.join(header)}); expected Term, RID, Parent_RID"
            )
        places.append(matches[0])
    return places[0], places[1], places[2]


def _encoding(path: Path) -> str:
    try:
        with open_bytes(path, TABLE_LIMIT) as file:
            for line in file:
                line.decode()
    except UnicodeDecodeError:
        return FALLBACK
    return UTF8
