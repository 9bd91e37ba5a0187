"""INbreast: a sheet row for every picture, outlines in OsiriX property lists."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from medrcube.errors import SourceError
from medrcube.records import Case, ImageRef, Label, Outline, Polygons, Region, Skip, State
from medrcube.sources.osirix import Mark, Points, read_marks
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.rows import nameless, unless_bad
from medrcube.sources.spreadsheets import read_sheet
from medrcube.sources.tables import Row, find_table, read_csv

COLUMNS = ("Laterality", "View", "File Name", "ACR", "Bi-Rads")
FLAGS = ("Mass", "Micros", "Distortion", "Asymmetry")
NOTES = "Findings Notes (in Portuguese)"
EXCLUDED_BY_NORMAL = ("mass", "calcification", "cluster", "asymmetry", "distortion")
AREAS = ("mass", "cluster", "asymmetry", "assymetry", "distortion")
VIEW = {"CC": "CC", "ML": "MLO", "FB": "FB"}
"""View in the sheet for its code in a file name."""

_DICOM = re.compile(
    r"(?P<id>\d{8})_(?P<patient>[0-9a-f]{16})_MG_([LR])_(CC|ML|FB)_ANON\.dcm", re.IGNORECASE
)
_XML = re.compile(r".*/(?P<kind>AllXML|Pectoral Muscle XML)/(?P<id>\d{8})[^/]*\.xml", re.IGNORECASE)


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the rows of the sheet; a picture whose file name contradicts it is set aside."""
    dicoms, outlines = _named(root)
    files = root.index("films")
    rows: list[Row] = []
    for row in _rows(root, layout):
        if row["File Name"]:
            rows.append(row)
        elif row["Laterality"] or row["View"]:  # the sheet ends with a row of totals
            yield nameless(row, "File Name")
    classes: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for row in rows:
        classes.setdefault(_breast(row, dicoms), set()).add((row["ACR"], row["Bi-Rads"].lower()))
    for row in rows:
        key, side, view = row["File Name"], row["Laterality"], row["View"]
        named = dicoms.get(key)
        path = files[named[0]] if named else root / "AllDICOMs" / f"{key}.dcm"
        if named and (named[3].upper(), VIEW[named[4].upper()]) != (side, view):
            column = "View" if named[3].upper() == side else "Laterality"
            reason = f"{row.cite(column)}: the file name says otherwise"
            yield Skip(key=key, reason=reason, paths=(path,))
        elif view == "FB":
            yield Skip(key=key, reason="a view from below, the only one", paths=(path,))
        else:
            muscle = outlines.get(("pectoral muscle xml", key)) if view == "MLO" else None
            try:
                marks = _marks(outlines.get(("allxml", key)))
                regions = (*_regions(marks), *_pectoral(muscle, side))
            except SourceError as error:
                yield Skip(key=key, reason=str(error), paths=(path,))
                continue
            case = Case(
                key=key,
                images=(ImageRef(paths=(path,)),),
                patient=named["patient"] if named else None,
                labels=tuple(_unmarked(row, outlined=("allxml", key) in outlines)),
                regions=regions,
                facts=(("laterality", side),),
                words=row.words(notes=NOTES),
            )
            make = partial(_labelled, case, row, marks, classes[_breast(row, dicoms)])
            yield from unless_bad(make, key=key, paths=(path,))


def _named(root: RawTree) -> tuple[dict[str, re.Match[str]], dict[tuple[str, str], Path]]:
    """Pictures by number; files of outlines by kind and number."""
    dicoms: dict[str, re.Match[str]] = {}
    outlines: dict[tuple[str, str], Path] = {}
    for name in root.names:
        if found := _XML.fullmatch(f"/{name}"):
            outlines[found["kind"].lower(), found["id"]] = root / name
        elif found := _DICOM.fullmatch(name.rpartition("/")[2]):
            dicoms.setdefault(found["id"], found)
    return dicoms, outlines


def _labelled(
    case: Case, row: Row, marks: Iterable[Mark], classes: Iterable[tuple[str, str]]
) -> Iterator[Case]:
    yield replace(case, labels=(*_labels(row, marks, classes), *case.labels))


def closed(line: Points, side: str) -> Points:
    """Close the line of a pectoral muscle with the upper corner at the chest wall.

    Left breasts touch the left edge. Right ones touch the right edge, where the line ends, so
    its last column stands for the width of the picture.
    """
    down = line if line[0][1] <= line[-1][1] else line[::-1]
    edge = 0.0 if side == "L" else max(x for x, _ in line)
    return ((edge, 0.0), (down[0][0], 0.0), *down, (edge, down[-1][1]))


def _rows(root: RawTree, layout: str) -> Iterator[Row]:
    path = find_table(root, "sheet")
    if layout == "csv":
        rows = read_csv(path, columns=COLUMNS)
    else:
        # A second sheet of some copies has another row order and names people.
        rows = read_sheet(path, columns=(*COLUMNS, *FLAGS), sheet="Sheet1")
    return iter(rows)


def _breast(row: Row, dicoms: Mapping[str, re.Match[str]]) -> tuple[str, ...]:
    """One breast of one exam; a picture without a file stands alone."""
    named = dicoms.get(row["File Name"])
    woman = named["patient"] if named else row["File Name"]
    side = named[3].upper() if named else row["Laterality"]
    return (woman.lower(), side, row.get("Acquisition date", ""))


def _labels(row: Row, marks: Iterable[Mark], classes: Iterable[tuple[str, str]]) -> Iterator[Label]:
    """Statements of a row; ``classes`` are density and category of each view of the breast."""
    densities = {density for density, _ in classes if density}
    grades = {grade for _, grade in classes}
    yield row.label("View", field="view")
    if row["ACR"]:
        yield row.label("ACR", field="density", state=_if_one(densities))
    grade = row["Bi-Rads"].lower()
    yield row.label("Bi-Rads", field="birads", value=grade, state=_if_one(grades))
    for flag in FLAGS:
        if flag in row and row.meaning(flag, {"X": True, "x": True, "": False}):
            yield row.label(flag, field=_field(flag.lower()), value=flag.lower())
    for mark in marks:
        yield Label(field=_field(mark.name), value=mark.name, evidence=mark.evidence)
    if row["Bi-Rads"] == "1":
        yield row.label("Bi-Rads", field="finding", value="normal")
        for name in EXCLUDED_BY_NORMAL:
            yield row.label("Bi-Rads", field=_field(name), value=name, state=State.ABSENT)


def _if_one(values: Collection[str]) -> State:
    """Open where the views of one breast were given different classes."""
    return State.PRESENT if len(values) == 1 else State.UNKNOWN


def _unmarked(row: Row, *, outlined: bool) -> Iterator[Label]:
    """All but normal pictures have a file of marks: a copy without it denies no mass."""
    if not outlined and row["Bi-Rads"] != "1" and not row.get("Mass"):
        yield row.label("Bi-Rads", field="mass", value="mass", state=State.UNKNOWN)


def _regions(marks: Iterable[Mark]) -> Iterator[Region]:
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


def _marks(path: Path | None) -> tuple[Mark, ...]:
    return () if path is None else read_marks(path)
