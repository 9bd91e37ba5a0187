"""INbreast: a sheet row for every image, outlines in OsiriX property lists."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from medrcube.errors import RowError, SourceError
from medrcube.facts import Case, ImageRef, Label, LabelState, Outline, Polygons, Region, Skip
from medrcube.sources._formats.annotations.osirix_plist import OsirixRoi, Points, read_rois
from medrcube.sources._formats.tables.rows import cases_or_skip, skip_if_unnamed
from medrcube.sources._formats.tables.spreadsheets import read_sheet
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

COLUMNS = ("Laterality", "View", "File Name", "ACR", "Bi-Rads")
FLAGS = ("Mass", "Micros", "Distortion", "Asymmetry")
NOTES = "Findings Notes (in Portuguese)"
EXCLUDED_BY_NORMAL = ("mass", "calcification", "cluster", "asymmetry", "distortion")
AREAS = ("mass", "cluster", "asymmetry", "assymetry", "distortion")
VIEW = {"CC": "CC", "ML": "MLO", "FB": "FB"}
"""View in the sheet for its code in a file name."""

CARD = own_card(__file__)
_DICOM = CARD.pattern("film", "id", "patient", "side", "view")
_XML = CARD.pattern("outlines", "kind", "id")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the rows of the sheet; an image whose file name contradicts it is set aside."""
    dicoms, outlines = _names(root)
    files = root.index("films")
    rows: list[TableRow] = []
    for row in _rows(root, layout):
        skip = skip_if_unnamed(row, "File Name")
        if skip is None:
            rows.append(row)
        elif not _is_of_totals(row):
            yield skip
    classes: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for row in rows:
        classes.setdefault(_breast(row, dicoms), set()).add(_classes(row))
    for row in rows:
        key = row["File Name"]
        name = dicoms.get(key)
        path = files[name[0]] if name else root / "AllDICOMs" / f"{key}.dcm"
        beside = classes[_breast(row, dicoms)]
        make = partial(_picture, row, path, name, outlines, beside)
        yield from cases_or_skip(make, key=key, paths=(path,))


def _picture(
    row: TableRow,
    path: Path,
    name: re.Match[str] | None,
    outlines: Mapping[tuple[str, str], Path],
    classes: Iterable[tuple[str, str]],
) -> Iterator[Case | Skip]:
    key, side, view = row["File Name"], row["Laterality"], row["View"]
    if name and (name["side"].upper(), VIEW[name["view"].upper()]) != (side, view):
        column = "View" if name["side"].upper() == side else "Laterality"
        reason = f"{row.quote(column, VIEW.values())}: the file name says otherwise"
        yield Skip(key=key, reason=reason, paths=(path,))
        return
    if view == "FB":
        yield Skip(key=key, reason="a view from below, the only one", paths=(path,))
        return
    muscle = outlines.get(("pectoral muscle xml", key)) if view == "MLO" else None
    findings = outlines.get(("allxml", key))
    try:
        marks = _marks(findings)
        regions = (*_regions(marks), *_pectoral(muscle, side))
    except SourceError as error:
        yield Skip(key=key, reason=str(error), paths=(path,))
        return
    unmarked = _unmarked(row, outlined=findings is not None)
    yield Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        patient=name["patient"] if name else None,
        labels=(*_labels(row, marks, classes), *unmarked),
        regions=regions,
        facts=(("laterality", side),),
        words=row.words(notes=NOTES),
        sidecars=tuple(filter(None, (findings, muscle))),
    )


def _names(root: RawTree) -> tuple[dict[str, re.Match[str]], dict[tuple[str, str], Path]]:
    """Pictures by number; files of outlines by kind and number."""
    dicoms: dict[str, re.Match[str]] = {}
    outlines: dict[tuple[str, str], Path] = {}
    for name in root.names:
        if match := _XML.fullmatch(f"/{name}"):
            outlines[match["kind"].lower(), match["id"]] = root / name
        elif match := _DICOM.fullmatch(name.rpartition("/")[2]):
            dicoms.setdefault(match["id"], match)
    return dicoms, outlines


def closed(line: Points, side: str) -> Points:
    """Close the line of a pectoral muscle with the upper corner at the chest wall.

    Left breasts touch the left edge. Right ones touch the right edge, where the line ends, so
    its last column stands for the width of the image.
    """
    down = line if line[0][1] <= line[-1][1] else line[::-1]
    edge = 0.0 if side == "L" else max(x for x, _ in line)
    return ((edge, 0.0), (down[0][0], 0.0), *down, (edge, down[-1][1]))


def _rows(root: RawTree, layout: str) -> Iterator[TableRow]:
    path = find_table(root, "sheet")
    if layout == "csv":
        rows = read_csv(path, columns=COLUMNS)
    else:
        # A second sheet of some copies has another row order and names people.
        rows = read_sheet(path, columns=(*COLUMNS, *FLAGS), sheet="Sheet1")
    return iter(rows)


def _is_of_totals(row: TableRow) -> bool:
    """Whether it is the row with which the sheet ends."""
    return not _cell(row, "File Name") and not (_cell(row, "Laterality") or _cell(row, "View"))


def _classes(row: TableRow) -> tuple[str, str]:
    """Density and category; what nobody can read agrees with no other view."""
    return _cell(row, "ACR"), _cell(row, "Bi-Rads").lower()


def _cell(row: TableRow, column: str) -> str:
    """A cell, or a sign where it is not text; its own case is set aside for that."""
    try:
        return row[column]
    except RowError:
        return "?"


def _breast(row: TableRow, dicoms: Mapping[str, re.Match[str]]) -> tuple[str, ...]:
    """One breast of one exam; an image without a file stands alone."""
    name = dicoms.get(row["File Name"])
    woman = name["patient"] if name else row["File Name"]
    side = name["side"].upper() if name else _cell(row, "Laterality")
    return (
        woman.lower(),
        side,
        _cell(row, "Acquisition date") if "Acquisition date" in row else "",
    )


def _labels(
    row: TableRow, marks: Iterable[OsirixRoi], classes: Iterable[tuple[str, str]]
) -> Iterator[Label]:
    """Statements of a row; ``classes`` are density and category of each view of the breast."""
    densities = {density for density, _ in classes if density}
    grades = {grade for _, grade in classes}
    yield row.label("View", field="view")
    if row["ACR"]:
        yield row.label("ACR", field="density", state=_present_if_unanimous(densities))
    grade = row["Bi-Rads"].lower()
    yield row.label("Bi-Rads", field="birads", value=grade, state=_present_if_unanimous(grades))
    for flag in FLAGS:
        if flag in row and row.meaning(flag, {"X": True, "x": True, "": False}):
            yield row.label(flag, field=_field(flag.lower()), value=flag.lower())
    for mark in marks:
        yield Label(field=_field(mark.name), value=mark.name, evidence=mark.evidence)
    if row["Bi-Rads"] == "1":
        yield row.label("Bi-Rads", field="finding", value="normal")
        for name in EXCLUDED_BY_NORMAL:
            yield row.label("Bi-Rads", field=_field(name), value=name, state=LabelState.ABSENT)


def _present_if_unanimous(values: Collection[str]) -> LabelState:
    """Open where the views of one breast were given different classes."""
    return LabelState.PRESENT if len(values) == 1 else LabelState.UNKNOWN


def _unmarked(row: TableRow, *, outlined: bool) -> Iterator[Label]:
    """All but normal images have a file of marks: a copy without it denies no mass."""
    if not outlined and row["Bi-Rads"] != "1" and not row.get("Mass"):
        yield row.label("Bi-Rads", field="mass", value="mass", state=LabelState.UNKNOWN)


def _regions(marks: Iterable[OsirixRoi]) -> Iterator[Region]:
    for mark in marks:
        if mark.name in AREAS and len(mark.points) > 2:  # calcifications are spots
            shape = Polygons(outlines=(Outline(points=mark.points),))
            field = _field(mark.name)
            yield Region(field=field, value=mark.name, shape=shape, evidence=mark.evidence)


def _pectoral(path: Path | None, side: str) -> Iterator[Region]:
    for mark in _marks(path):
        if len(mark.points) > 1:
            shape = Polygons(outlines=(Outline(points=closed(mark.points, side)),))
            value = "pectoral muscle"
            yield Region(field="structure", value=value, shape=shape, evidence=mark.evidence)


def _field(name: str) -> str:
    return "mass" if name == "mass" else "finding"


def _marks(path: Path | None) -> tuple[OsirixRoi, ...]:
    return () if path is None else read_rois(path)
