"""LUNA16: a slice through each nodule that three of four readers marked, and of clear scans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import dist
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import Case, ImageRef, Label, LabelState, Rectangle, Region, Skip
from medrcube.sources._formats.metaimage_header import (
    MetaImageHeader,
    Triple,
    read_metaimage_header,
)
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name
from medrcube.sources._formats.tables.tables import (
    TableRow,
    find_optional_table,
    find_table,
    read_csv,
)
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_PLACE = ("coordX", "coordY", "coordZ")
_COLUMNS = ("seriesuid", *_PLACE, "diameter_mm")
_LEAST, _MOST = CARD.number("least_nodule_mm"), CARD.number("most_nodule_mm")
_APART = CARD.number("apart_diameters")
Rows = Mapping[str, Sequence[TableRow]]


@dataclass(frozen=True, slots=True)
class _Scan:
    """One series, its nodules, and the marks of single readers where their table is there."""

    uid: str
    paths: Sequence[Path]
    nodules: Sequence[TableRow]
    marks: Sequence[TableRow] | None
    series: Sequence[TableRow]

    @property
    def patient(self) -> str:
        """By the table of series of LIDC-IDRI; without it each scan is a patient."""
        return self.series[0].name("Patient Id") if self.series else self.uid


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield scan by scan, in the order of their series."""
    del layout
    nodules, nameless = group_by_name(
        read_csv(find_table(root, "nodules"), columns=_COLUMNS), "seriesuid", opens=("nodule",)
    )
    yield from nameless
    marks: Rows | None = None
    if (table := find_optional_table(root, "marks")) is not None:
        rows = read_csv(table, columns=_COLUMNS)
        marks, nameless = group_by_name(rows, "seriesuid", opens=("nodule",))
        yield from nameless
    series: Rows = {}
    if (table := find_optional_table(root, "series")) is not None:
        rows = read_csv(table, columns=("Patient Id", "Series UID"))
        series, nameless = group_by_name(rows, "Series UID")
        yield from nameless
    scans: dict[str, list[Path]] = {uid: [] for uid in nodules}
    for path in root.part("scans"):
        scans.setdefault(path.stem, []).append(path)
    for uid, paths in sorted(scans.items()):
        own = None if marks is None else marks.get(uid, ())
        missing = root / f"subset0/{uid}.mhd"
        scan = _Scan(uid, paths or [missing], nodules.get(uid, ()), own, series.get(uid, ()))
        files = tuple(file for path in paths for file in (path, path.with_suffix(".raw")))
        makes = {f"{uid}-{row.line}": partial(_nodule, scan, row) for row in scan.nodules}
        for key, make in (makes or {f"{uid}-clear": partial(_clear, scan)}).items():
            yield from cases_or_skip(partial(make, key), key=key, paths=files)


def _nodule(scan: _Scan, row: TableRow, key: str) -> Iterator[Case | Skip]:
    place, size = _ball(row)
    header, image = _image(scan)
    box = _box(header, place, size) if header else None
    if header and box is None:
        raise RowError(f"{row.quote('coordX')}: the nodule lies outside of its scan")
    if not _LEAST <= size <= _MOST:
        reason = f"{size:.1f} mm; nodules of {_LEAST:g} to {_MOST:g} mm are asked about"
        yield Skip(key=key, reason=reason, paths=image.paths + image.parts)
        return
    others = [*map(_ball, scan.nodules), *map(_ball, scan.marks or ())]
    alone = scan.marks is not None and _is_alone(place, size, others)
    evidence = row.cite("diameter_mm")
    regions = [
        Region(field="nodule", value="nodule", shape=shape, evidence=evidence)
        for shape in (box,)
        if shape and alone
    ]
    yield Case(
        key=key,
        images=(image,),
        patient=scan.patient,
        labels=(Label(field="nodule", value="nodule", evidence=evidence),),
        regions=tuple(regions),
        guide=(box,) if box else (),
    )


def _clear(scan: _Scan, key: str) -> Iterator[Case | Skip]:
    _, image = _image(scan)
    if scan.marks is None or any(size > 0 for _, size in map(_ball, scan.marks)):
        reason = "fewer than three readers marked a nodule, or the table of such marks is missing"
        yield Skip(key=key, reason=reason, paths=image.paths + image.parts)
        return
    evidence = "no row of annotations.csv, no size in annotations_excluded.csv"
    none = Label(field="nodule", value="none", evidence=evidence)
    nodule = Label(field="nodule", value="nodule", state=LabelState.ABSENT, evidence=evidence)
    labels = (none, nodule)
    yield Case(key=key, images=(image,), patient=scan.patient, labels=labels, unguided="middle")


def _image(scan: _Scan) -> tuple[MetaImageHeader | None, ImageRef]:
    """The volume of a scan and its header, which a copy may lack."""
    path = scan.paths[0]
    if len(scan.paths) > 1:
        raise RowError(f"{scan.uid}: lies in {len(scan.paths)} subsets; expected one")
    if not path.exists():
        return None, ImageRef(paths=(path,))
    header = read_metaimage_header(path)
    if header.element != "MET_SHORT" or set(header.spacing) == {1.0}:
        raise RowError(f"{path.name}: is not the scan of the release but a resampled copy of it")
    return header, ImageRef(paths=(path,), parts=(path.with_name(header.data_file),))


def _ball(row: TableRow) -> tuple[Triple, float]:
    """Middle and diameter of a mark."""
    x, y, z = (row.number(column) for column in _PLACE)
    return (x, y, z), row.number("diameter_mm")


def _box(header: MetaImageHeader, place: Triple, size: float) -> Rectangle | None:
    """The square of the stated diameter, on the slices that a ball of it reaches."""
    if (centre := header.index(place)) is None:
        return None
    x, y, z = centre
    half_x, half_y, half_z = (size / 2 / step for step in header.spacing)
    middle, reach = round(z), int(half_z)
    corners = (x + 0.5 - half_x, y + 0.5 - half_y, x + 0.5 + half_x, y + 0.5 + half_y)
    first, last = max(middle - reach, 0), min(middle + reach, header.size[2] - 1)
    return Rectangle(xyxy=corners, slices=(first, last + 1))


def _is_alone(place: Triple, size: float, marks: Sequence[tuple[Triple, float]]) -> bool:
    """Whether no mark of anything else that has a size lies near the slice through a nodule."""
    return all(
        dist(place, other) <= size / 2 or abs(place[2] - other[2]) > _APART * width
        for other, width in marks
        if width > 0
    )
