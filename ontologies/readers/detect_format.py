"""Detect the format of ontology files by their first bytes; file names are ignored."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from enum import StrEnum

from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX, SSSOM

__all__ = [
    "HEAD",
    "LINEARIZATION",
    "PARENT_COLUMNS",
    "RID_COLUMNS",
    "Format",
    "format_of",
    "is_radlex_header",
    "normalize_column",
]

HEAD = 64 * 1024
"""Unpacked bytes needed to detect the format; covers RSNA's and Protege's XML prologs."""


class Format(StrEnum):
    """Supported formats, by their common names."""

    OBO = "OBO"
    RDF_XML = "RDF/XML"
    OWL_XML = "OWL/XML"
    RADLEX_TABLE = "RadLex table of term, RID and parent"
    BIOPORTAL = "BioPortal CSV"
    ICD_TABLE = "ICD-11 table of WHO"
    ICD_API = "JSON-LD of the ICD-API"
    SSSOM = "SSSOM table"

    @property
    def ontology(self) -> str:
        """The ontology that is published in this format."""
        return _ONTOLOGY[self]


_ONTOLOGY = {
    Format.OBO: HPO,
    Format.RDF_XML: RADLEX,
    Format.OWL_XML: RADLEX,
    Format.RADLEX_TABLE: RADLEX,
    Format.BIOPORTAL: RADLEX,
    Format.ICD_TABLE: ICD11,
    Format.ICD_API: ICD11,
    Format.SSSOM: SSSOM,
}

LINEARIZATION = ("linearizationuri", "linearization(release)uri", "linearizationreleaseuri")
RID_COLUMNS = ("rid", "radlexid", "id")
PARENT_COLUMNS = ("parentrid", "parent", "parentid")

_OBO = re.compile(r"(?:[ \t\r]*(?:!.*)?\n)*(?:\[(?:Term|Typedef)\]|[a-z-]+: ?\S)")
_OBO_FRAME = re.compile(r"^(\[(Term|Typedef)\]|format-version:)", re.MULTILINE)
_PROLOG = re.compile(r"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(\[.*?\]\s*)?>", re.DOTALL)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)")


def format_of(head: bytes) -> Format | str:
    """Return the format of a file from its first ``HEAD`` unpacked bytes, or what was found.

    Invalid UTF-8 does not prevent detection: the reader reports it.
    """
    if not head.strip():
        return "an empty file"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16 text; convert it to UTF-8"
    if b"\0" in head:
        return "binary data"
    text = head.decode("utf-8-sig", "replace")
    stripped = text.lstrip()
    if stripped.startswith("<"):
        return _xml(stripped)
    if re.match(r"(\[\s*)?\{", stripped):
        return Format.ICD_API
    if _OBO.match(text) and _OBO_FRAME.search(text):
        return Format.OBO
    return _table(text) or f"text that begins with {stripped[:40]!r}"


def normalize_column(name: str) -> str:
    """Normalise a column name: ignore case, blanks and underscores, in which editions differ."""
    return re.sub(r"[\s_]+", "", name).lower()


def _xml(text: str) -> Format | str:
    position = 0
    while match := _PROLOG.match(text, position):
        position = match.end()
    root = _ROOT.match(text, position)
    if root is None:
        return "XML without a root element in its first bytes"
    content = {"RDF": Format.RDF_XML, "Ontology": Format.OWL_XML}.get(root[1])
    return content or f"XML with the root element <{root[1]}>"


def _table(text: str) -> Format | None:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    if not lines:
        return Format.SSSOM if "mapping_set_id" in text else None
    tabbed = [cell.strip().strip('"') for cell in lines[0].split("\t")]
    names = [normalize_column(name) for name in tabbed]
    if {"subject_id", "predicate_id", "object_id"} <= set(tabbed):
        return Format.SSSOM
    if set(names) & set(LINEARIZATION) and {"title", "titleen"} & set(names):
        return Format.ICD_TABLE
    rows = _rows(lines[:2])
    if {"classid", "preferredlabel"} <= {normalize_column(name) for name in rows[0]}:
        return Format.BIOPORTAL
    if is_radlex_header(rows[0]) or all(is_radlex_row(row) for row in rows):
        return Format.RADLEX_TABLE
    return None


def is_radlex_header(cells: Sequence[str]) -> bool:
    """Whether these are the column names of a three-column RadLex table."""
    names = {normalize_column(cell) for cell in cells}
    return bool(names & set(RID_COLUMNS)) and bool(names & set(PARENT_COLUMNS))


def is_radlex_row(cells: Sequence[str]) -> bool:
    """Whether this is a row of a three-column RadLex table: term, RID, RID of the parent."""
    return len(cells) == 3 and all(re.fullmatch(r"\s*RID\d+\s*", cell) for cell in cells[1:])


def _rows(lines: Sequence[str]) -> list[list[str]]:
    try:
        return list(csv.reader(lines)) or [[]]
    except csv.Error:
        return [[]]
