"""Reader: WHO's ICD-11 MMS tables (SimpleTabulation, LinearizationMiniOutput).

Columns are located by name, since every release moves them. The header may have one more name than
the rows have cells (the version), cells may contain line breaks, and the level of a row is the
number of "- " before its title. The key is the linearization URI: groups have neither code nor
block id.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from medrcube.ontologies.concept_records import ICD11, Concept, Edge, Ontology, OntologyError
from medrcube.ontologies.readers.bounded_files import TABLE_LIMIT, open_text
from medrcube.ontologies.readers.detect_format import LINEARIZATION, normalize_column
from medrcube.ontologies.readers.edition_metadata import first_few, make_edition, with_stubs

__all__ = ["RELEASE", "RESIDUAL", "entity_of"]

ENTITY = re.compile(r"/(\d+(?:/\w+)?)/?$")
"""Entity at the end of every ICD-11 URI, with the suffix that marks a residual category."""
RESIDUAL = ("other", "unspecified")
RELEASE = re.compile(r"/release/11/(\d{4}-\d{2})/")

_COLUMNS: Mapping[str, Sequence[str]] = {
    "uri": LINEARIZATION,
    "foundation": ("foundationuri",),
    "code": ("code", "icd11code"),
    "title": ("title",),
    "english": ("titleen",),
    "kind": ("classkind",),
    "residual": ("isresidual",),
    "chapter": ("chapterno", "chapter"),
    "parent": ("parent", "parenturi"),
    "primary": ("primarylocation", "isprimarylocation"),
}
_NEEDED = ("uri", "code", "kind")
_DEPTH = re.compile(r"(?:-\s+)*")
_VERSION = re.compile(r"version\s*:\s*(.+)", re.IGNORECASE)


def read(path: Path, *, version: str = "") -> Ontology:
    """Read a table of ICD-11: plain, packed, or WHO's zip with its readme and workbook.

    Raises:
        OntologyError: the file cannot be read, or lacks a column that every release has.
    """
    with open_text(path, limit=TABLE_LIMIT) as file:
        reader = csv.reader(file, delimiter="\t")
        try:
            header = next(reader, [])
            columns = _columns(path, header)
            table = _Table()
            for cells in reader:
                if any(cells):
                    table.add({name: _cell(cells, place) for name, place in columns.items()})
        except csv.Error as error:
            raise OntologyError(
                f"{path}: line {reader.line_num} is not a tab-separated table ({error}); get the "
                "file again"
            ) from error
    if not table.rows:
        raise OntologyError(f"{path}: has a header but no row; get the file again")
    remarks = table.remarks
    concepts = with_stubs(list(table.concepts()), remarks)
    table_version = _version(header, table.rows[0].uri)
    edition = make_edition(path, ICD11, version=version or table_version, remarks=remarks)
    return Ontology(edition=edition, concepts=concepts)


def entity_of(uri: str) -> str:
    """Return entity number and residual suffix of a URI of any form; empty for the root."""
    match = ENTITY.search(uri)
    return match[1] if match else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    uri: str
    foundation: str
    code: str
    title: str
    kind: str
    residual: bool
    chapter: str
    parent: str
    above: str


@dataclass(slots=True)
class _Table:
    """Rows read so far and the path from the chapter to the last of them."""

    rows: list[_Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    _stack: list[str] = field(default_factory=list)
    _uris: set[str] = field(default_factory=set)
    _twice: list[str] = field(default_factory=list)
    _nameless: int = 0

    def add(self, cells: Mapping[str, str]) -> None:
        """Add one row; a second occurrence of an entity only updates the path."""
        uri = cells["uri"]
        if not uri:
            self._nameless += 1
            return
        dashes = _DEPTH.match(cells["title"] or cells["english"])
        depth = dashes[0].count("-") if dashes else 0
        above = self._stack[depth - 1] if 0 < depth <= len(self._stack) else ""
        del self._stack[depth:]
        self._stack.extend([uri] * (depth + 1 - len(self._stack)))
        if uri in self._uris or cells["primary"].lower() == "false":
            self._twice.append(uri)
            return
        self._uris.add(uri)
        title = _DEPTH.sub("", cells["english"] or cells["title"], count=1)
        word = entity_of(uri).rpartition("/")[2]
        self.rows.append(
            _Row(
                uri=uri,
                foundation=cells["foundation"],
                code=cells["code"],
                title=" ".join(title.split()) or uri,
                kind=cells["kind"].lower(),
                residual=cells["residual"].lower() == "true" or word in RESIDUAL,
                chapter=cells["chapter"],
                parent=cells["parent"],
                above=above,
            )
        )

    def concepts(self) -> Iterator[Concept]:
        """Yield the rows as concepts, with the parent from the table or else from the depth."""
        by_entity = {entity_of(row.uri): row.uri for row in self.rows}
        lost: list[str] = []
        for row in self.rows:
            parent = row.above
            if entity_of(row.parent):
                parent = by_entity.get(entity_of(row.parent), "")
                if not parent:
                    lost.append(row.uri)
                    parent = row.above or row.parent
            yield Concept(
                id=row.uri,
                label=row.title,
                edges=(Edge(target=parent),) if parent else (),
                code=row.code,
                alt_ids=(row.foundation,) if row.foundation and not row.residual else (),
                residual=row.residual,
                kind=row.kind,
                chapter=row.chapter,
            )
        self._remark(lost)

    def _remark(self, lost: Sequence[str]) -> None:
        if lost:
            self.remarks.append(
                f"{len(lost)} rows name a parent that the table lacks; theirs is taken from the "
                f"depth of the title: {first_few(lost)}."
            )
        if self._twice:
            self.remarks.append(
                f"{len(self._twice)} rows repeat an entity at a second place and are left out: "
                f"{first_few(self._twice)}."
            )
        if self._nameless:
            self.remarks.append(f"{self._nameless} rows without a linearization URI are left out.")


def _columns(path: Path, header: Sequence[str]) -> dict[str, int | None]:
    names = [normalize_column(name) for name in header]
    places: dict[str, int | None] = {}
    for column, variants in _COLUMNS.items():
        matches = [names.index(name) for name in variants if name in names]
        places[column] = matches[0] if matches else None
    lacking = [_COLUMNS[name][0] for name in _NEEDED if places[name] is None]
    if places["title"] is None and places["english"] is None:
        lacking.append("title")
    if lacking:
        raise OntologyError(
            f"{path}: has no column for {', '.join(lacking)} (columns: {', '.join(header)}); "
            "expected WHO's SimpleTabulation or LinearizationMiniOutput"
        )
    return places


def _cell(cells: Sequence[str], place: int | None) -> str:
    return cells[place].strip() if place is not None and place < len(cells) else ""


def _version(header: Sequence[str], uri: str) -> str:
    for name in header:
        match = _VERSION.match(name.strip())
        if match:
            return match[1].strip()
    release = RELEASE.search(uri)
    return release[1] if release else ""
