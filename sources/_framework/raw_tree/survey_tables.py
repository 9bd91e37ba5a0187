"""Survey of the tables of an unknown raw tree: columns, listable values, and image keys.

Values are listed only if few of them repeat over many rows, and never for a column whose name
suggests personal data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from medrcube.errors import MedrcubeError
from medrcube.sources._formats.tables.delimited import delimiter_of
from medrcube.sources._formats.tables.spreadsheets import read_cells, read_sheet, sheet_names
from medrcube.sources._formats.tables.tables import TableRow, read_csv
from medrcube.sources._framework.raw_tree.pixel_files import DICOMS, stem_of, suffix_of

__all__ = ["SHEETS", "SurveyColumn", "SurveyTable", "survey_tables"]

_MANY = 12
_FRACTION = re.compile(r"-?\d+\.\d*[1-9]\d*")
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?")
SHEETS = (".xlsx", ".xls")
_TITLES = 5
"""Number of first rows of a sheet that are searched for its header."""
_PERSON = re.compile(
    r"name|birth|dob|addr|phone|mail|mrn|ssn|accession|date|time|patient|subject|operator"
    r"|physician|doctor|comment|note|report|(^|[_ ])id$",
    re.IGNORECASE,
)
_PATIENT = re.compile(r"(patient|subject)[ _]?(id|no|nr|num|number)?$|^pid$", re.IGNORECASE)
_FLAGS = frozenset({"", "0", "1", "0.0", "1.0", "-1", "-1.0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyColumn:
    """One column of a table.

    Attributes:
        name: as in the header.
        values: value -> number of rows; empty if they may not or need not be listed.
        numbers: whether all values are numbers, some of them fractional, as in measurements.
        flags: whether all values are 0, 1, -1 or blank: one column per label.
        patient: whether its name suggests that it identifies patients.
    """

    name: str
    values: Mapping[str, int]
    numbers: bool
    flags: bool
    patient: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyTable:
    """A delimited table, or one sheet of a spreadsheet.

    Attributes:
        path: relative to the root.
        sheet: name of the sheet; ``None`` for a delimited table.
        header: number of the header row, from 1.
        delimiter: one character; empty for a sheet.
        encoding: Python name of the text encoding; empty for a sheet.
        rows: number of rows.
        columns: columns in file order.
        key: column that names images, or ``None``.
        suffix: suffix to append to its values to obtain file names.
        folder: the only folder whose images it names; ``None`` if it covers the whole tree.
        series_key: column that names folders of DICOM series, or ``None``.
        level: index, from 0, of the path component that ``series_key`` names.
        folder_key: for a table with neither key, the column that names image folders, ignoring
            leading zeros; or ``None``.
        pair: for a table without a key, the two columns that together name the folder and file of
            an image, ignoring leading zeros and suffix; or ``None``.
    """

    path: str
    sheet: str | None
    header: int
    delimiter: str
    encoding: str
    rows: int
    columns: tuple[SurveyColumn, ...]
    key: str | None
    suffix: str
    folder: str | None
    series_key: str | None
    level: int
    folder_key: str | None
    pair: tuple[str, str] | None


def survey_tables(
    root: Path, names: Iterable[str], pictures: Sequence[str]
) -> Iterable[SurveyTable]:
    """Return the readable tables of a tree, in the order of ``names``."""
    for name in names:
        try:
            if suffix_of(name) in {".csv", ".tsv"}:
                yield _delimited(root / name, name, pictures)
            elif suffix_of(name) in SHEETS:
                yield from _sheets(root / name, name, pictures)
        except MedrcubeError:
            continue  # a file that is not a table is still counted by its suffix


def _delimited(path: Path, name: str, pictures: Sequence[str]) -> SurveyTable:
    encoding = _encoding(path)
    with path.open(encoding=encoding, newline="") as file:
        delimiter = delimiter_of(file.readline())
    table = _table(read_csv(path, columns=(), encoding=encoding), name, pictures)
    return replace(table, delimiter=delimiter, encoding=encoding)


def _sheets(path: Path, name: str, pictures: Sequence[str]) -> Iterable[SurveyTable]:
    for sheet in sheet_names(path):
        cells = read_cells(path, sheet=sheet)[:_TITLES]
        filled = [sum(bool(cell.strip()) for cell in row) for row in cells]
        if max(filled, default=0) > 1:
            header = filled.index(max(filled)) + 1
            rows = read_sheet(path, columns=(), sheet=sheet, header=header)
            yield replace(_table(rows, name, pictures), sheet=sheet, header=header)


def _table(rows: Sequence[TableRow], name: str, pictures: Sequence[str]) -> SurveyTable:
    header = [column for column in (rows[0] if rows else ()) if column]
    key, suffix, folder = _key(header, rows, pictures)
    series_key, level = _series_key(header, rows, pictures)
    return SurveyTable(
        path=name,
        sheet=None,
        header=1,
        delimiter="",
        encoding="",
        rows=len(rows),
        columns=tuple(_column(column, rows) for column in header),
        key=key,
        suffix=suffix,
        folder=folder,
        series_key=series_key,
        level=level,
        folder_key=None if key or series_key else _folder_key(header, rows, pictures),
        pair=None if key or series_key else _pair(header, rows, pictures),
    )


def _encoding(path: Path) -> str:
    try:
        path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _column(name: str, rows: Sequence[TableRow]) -> SurveyColumn:
    counts = Counter(row[name] for row in rows)
    person = _PERSON.search(name) is not None
    few = len(counts) <= _MANY and 2 * len(counts) <= len(rows)
    listed = few and not person and not any(map(_FRACTION.fullmatch, counts))
    return SurveyColumn(
        name=name,
        values=dict(sorted(counts.items())) if listed else {},
        numbers=not person and _are_measures(counts),
        flags=listed and set(counts) <= _FLAGS and any(counts[value] for value in ("1", "1.0")),
        patient=_PATIENT.search(name) is not None,
    )


def _are_measures(cells: Iterable[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return any(map(_FRACTION.fullmatch, filled)) and all(map(_NUMBER.fullmatch, filled))


def _key(
    columns: Iterable[str], rows: Sequence[TableRow], pictures: Sequence[str]
) -> tuple[str | None, str, str | None]:
    """Return the column whose values name images, their missing suffix, and the images' folder.

    Most of its values name images; or, for a partial copy, most images are named and nearly every
    row has a unique value. If names repeat in several folders, or only the images of one folder
    are named, the folder with most matches is returned.
    """
    by_folder: dict[str, list[str]] = {}
    for name in pictures:
        by_folder.setdefault(PurePosixPath(name).parent.as_posix(), []).append(name)
    unique = len({PurePosixPath(name).name for name in pictures}) == len(pictures)
    groups: list[tuple[str | None, Sequence[str]]] = [(None, pictures)] if unique else []
    groups += [(folder, names) for folder, names in by_folder.items() if len(names) > 1]
    cells = {column: _names_in(column, rows) for column in columns}
    for folder, members in groups if unique else sorted(groups, key=lambda g: -len(g[1])):
        match = _naming(cells, len(rows), members, whole=folder is None or len(groups) == 1)
        if match is not None:
            return *match, folder
    return None, "", None


def _names_in(column: str, rows: Iterable[TableRow]) -> set[str]:
    return {PurePosixPath(row[column]).name for row in rows if row[column]}


def _naming(
    cells: Mapping[str, set[str]], rows: int, pictures: Sequence[str], *, whole: bool
) -> tuple[str, str] | None:
    """Return the column that names these images, and the suffix missing from its values."""
    files = {PurePosixPath(name).name for name in pictures}
    stems = {stem_of(name): PurePosixPath(name).name[len(stem_of(name)) :] for name in pictures}
    if not whole:  # a number may be a count of anything
        stems = {stem: added for stem, added in stems.items() if not stem.isdigit()}
    best: tuple[float, str, str] = (0.8, "", "")
    for column, values in cells.items():
        for names, added in ((files, False), (stems.keys(), True)):
            hits = values & names
            share = len(hits) / max(len(values), 1) if whole else 0.0
            if 2 * len(values) >= rows:
                share = max(share, len(hits) / max(len(names), 1))
            if len(values) > 1 and share > best[0]:
                best = (share, column, stems[min(hits)] if added else "")
    return best[1:] if best[1] else None


def _series_key(
    columns: Iterable[str], rows: Sequence[TableRow], pictures: Sequence[str]
) -> tuple[str | None, int]:
    """Return the column whose values name folders of DICOM files row by row, and their level."""
    folders: dict[int, set[str]] = {}
    for name in pictures:
        if suffix_of(name) in (*DICOMS, ""):
            for level, part in enumerate(PurePosixPath(name).parts[:-1]):
                folders.setdefault(level, set()).add(part)
    for column in columns:
        values = _names_in(column, rows)
        for level, names in sorted(folders.items(), reverse=True):
            hits = {name for name in values & names if not name.isdigit()}
            if 2 * len(values) >= len(rows) and len(hits) > 1 and 2 * len(hits) >= len(names):
                return column, level
    return None, 0


def _folder_key(
    columns: Iterable[str], rows: Sequence[TableRow], pictures: Sequence[str]
) -> str | None:
    """Return the column that names most image folders of one level, ignoring leading zeros."""
    folders: dict[int, set[str]] = {}
    for name in pictures:
        for level, part in enumerate(PurePosixPath(name).parts[:-1]):
            folders.setdefault(level, set()).add(part.lstrip("0"))
    for column in columns:
        values = {value.lstrip("0") for value in _names_in(column, rows)}
        for names in folders.values():
            hits = values & names
            if 2 * len(values) >= len(rows) and len(hits) > 1 and 2 * len(hits) >= len(names):
                return column
    return None


def _pair(
    columns: Sequence[str], rows: Sequence[TableRow], pictures: Sequence[str]
) -> tuple[str, str] | None:
    """Return the folder and file columns that together name most images, one row per image."""
    parts = [PurePosixPath(name).parts[:-1] for name in pictures]
    files = [stem_of(name).lstrip("0") for name in pictures]
    cells = {column: [stem_of(row[column]).lstrip("0") for row in rows] for column in columns}
    for level in range(max(map(len, parts), default=0)):
        folders = [place[level].lstrip("0") if level < len(place) else "" for place in parts]
        images = set(zip(folders, files, strict=True))
        for first in (column for column in columns if len(set(folders) & set(cells[column])) > 1):
            for second in (column for column in columns if column != first):
                pairs = set(zip(cells[first], cells[second], strict=True))
                hits = images & pairs
                most = 2 * len(pairs) >= len(rows) and 2 * len(hits) >= len(images)
                if most and len({file for _, file in hits}) > 1:
                    return first, second
    return None
