"""Reader: RadLex as BioPortal CSV, one row per class, lists separated by ``|``.

Withdrawn classes have the RID as label and the name in ``Preferred_Name_for_Obsolete``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from medrcube.ontologies.concept_records import IS_A, Ontology, OntologyError
from medrcube.ontologies.readers.bounded_files import TABLE_LIMIT, open_text
from medrcube.ontologies.readers.detect_format import normalize_column
from medrcube.ontologies.readers.edition_metadata import first_few
from medrcube.ontologies.readers.radlex_classes import (
    LABEL,
    NAMES,
    REPLACED_BY,
    SYNONYM,
    RadlexClass,
    local_name,
    make_radlex,
    rid_of,
    rids_in,
)

__all__ = ["read"]

SEPARATOR = "|"
_OWN = {
    "classid": "id",
    "preferredlabel": LABEL,
    "synonyms": SYNONYM,
    "obsolete": "obsolete",
    "parents": "parents",
}


def read(path: Path, *, version: str = "") -> Ontology:
    """Read BioPortal's CSV of RadLex.

    Raises:
        OntologyError: the file cannot be read, or contains classes without RadLex ids.
    """
    entries: dict[str, RadlexClass] = {}
    skipped: list[str] = []
    for row in _rows(path):
        rid = rid_of(row.get("id", ""))
        if not rid:
            skipped.append(row.get("id", "") or "(empty)")
            continue
        _fill(entries.setdefault(rid, RadlexClass()), row)
    remarks: list[str] = []
    if skipped:
        remarks.append(
            f"{len(skipped)} rows without a RadLex id are left out: {first_few(skipped)}."
        )
    concepts = [entry.concept(rid) for rid, entry in entries.items()]
    return make_radlex(path, concepts, remarks, version)


def _fill(entry: RadlexClass, row: Mapping[str, str]) -> None:
    entry.obsolete = row.get("obsolete", "").casefold() in {"true", "1"}
    for parent in _listed(row.get("parents", "")):
        if rid := rid_of(parent):
            entry.relate(rid, IS_A)
    for name, cell in row.items():
        if not cell or name in {"id", "obsolete", "parents"}:
            continue
        if name in NAMES:
            for text in [cell] if name == LABEL else _listed(cell):
                entry.say(name, text)
        elif name == REPLACED_BY:
            entry.replaced_by += rids_in(cell)
        else:
            targets = [rid_of(part) for part in _listed(cell)]
            for target in targets if all(targets) else ():
                entry.relate(target, name)


def _listed(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(SEPARATOR) if part.strip()]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with open_text(path, limit=TABLE_LIMIT) as file:
        reader = csv.reader(file)
        try:
            header = next(reader, [])
            names = [
                _OWN.get(normalize_column(name)) or local_name(name.strip()) for name in header
            ]
            for cells in reader:
                row: dict[str, str] = {}
                for name, cell in zip(names, cells, strict=False):
                    text = cell.strip()
                    before = row.get(name, "")
                    row[name] = f"{before}{SEPARATOR}{text}" if before and text else before or text
                yield row
        except csv.Error as error:
            raise OntologyError(
                f"{path}: line {reader.line_num} is not CSV ({error}); get the file again"
            ) from error
