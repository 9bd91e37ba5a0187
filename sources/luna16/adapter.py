"""LUNA16: one slice per nodule marked by three of four readers, and per clear scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import Case, ImageRef, Label, LabelState, Region, Skip
from medrcube.sources._formats.balls import PLACE, ball_of, lies_alone
from medrcube.sources._formats.borrowed_levels import drawn_slice
from medrcube.sources._formats.metaimage_header import MetaImageHeader, read_metaimage_header
from medrcube.sources._formats.tables.rows import (
    cases_or_skip,
    group_by_name,
    group_optional_table,
)
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_COLUMNS = ("seriesuid", *PLACE, "diameter_mm")
_LEAST, _MOST = CARD.number("least_nodule_mm"), CARD.number("most_nodule_mm")
_APART, _LEVELS = CARD.number("apart_diameters"), CARD.numbers("nodule_levels", 10)
_ball = partial(ball_of, place=PLACE, size="diameter_mm")


@dataclass(frozen=True, slots=True)
class _Scan:
    """One series, its nodules, and the marks of single readers if their table is present."""

    uid: str
    paths: Sequence[Path]
    nodules: Sequence[TableRow]
    marks: Sequence[TableRow] | None
    series: Sequence[TableRow]

    @property
    def patient(self) -> str:
        """Patient, from the series table of LIDC-IDRI; without it each scan is a patient."""
        return self.series[0].name("Patient Id") if self.series else self.uid


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield cases scan by scan, by series UID."""
    del layout
    name, opens = "seriesuid", ("nodule",)
    rows = read_csv(find_table(root, "nodules"), columns=_COLUMNS)
    nodules, nameless = group_by_name(rows, name, opens=opens)
    marks, unmarked = group_optional_table(root, "marks", name, columns=_COLUMNS, opens=opens)
    series, unlisted = group_optional_table(root, "series", "Series UID", columns=("Patient Id",))
    yield from (*nameless, *unmarked, *unlisted)
    scans: dict[str, list[Path]] = {uid: [] for uid in nodules}
    for path in root.part("scans"):
        scans.setdefault(path.stem, []).append(path)
    for uid, paths in sorted(scans.items()):
        own = None if marks is None else marks.get(uid, ())
        here, listed = paths or [root / f"subset0/{uid}.mhd"], (series or {}).get(uid, ())
        scan = _Scan(uid, here, nodules.get(uid, ()), own, listed)
        files = tuple(file for path in paths for file in (path, path.with_suffix(".raw")))
        makes = {f"{uid}-{row.line}": partial(_nodule, scan, row) for row in scan.nodules}
        for key, make in (makes or {f"{uid}-clear": partial(_clear, scan)}).items():
            yield from cases_or_skip(partial(make, key), key=key, paths=files)


def _nodule(scan: _Scan, row: TableRow, key: str) -> Iterator[Case | Skip]:
    ball = _ball(row)
    header, image = _image(scan)
    box = header.square(ball) if header else None
    if header and box is None:
        raise RowError(f"{row.quote('coordX')}: the nodule lies outside of its scan")
    if not _LEAST <= ball.size <= _MOST:
        reason = f"{ball.size:.1f} mm; nodules of {_LEAST:g} to {_MOST:g} mm are asked about"
        yield Skip(key=key, reason=reason, paths=image.paths + image.parts)
        return
    others = map(_ball, (*scan.nodules, *(scan.marks or ())))
    evidence, guide = row.cite("diameter_mm"), (box,) if box else ()
    alone = guide if scan.marks is not None and lies_alone(ball, others, _APART) else ()
    yield Case(
        key=key,
        images=(image,),
        patient=scan.patient,
        labels=(Label(field="nodule", value="nodule", evidence=evidence),),
        regions=tuple(
            Region(field="nodule", value="nodule", shape=at, evidence=evidence) for at in alone
        ),
        guide=guide,
    )


def _clear(scan: _Scan, key: str) -> Iterator[Case | Skip]:
    header, image = _image(scan)
    if scan.marks is None or any(mark.size > 0 for mark in map(_ball, scan.marks)):
        reason = "fewer than three readers marked a nodule, or the table of such marks is missing"
        yield Skip(key=key, reason=reason, paths=image.paths + image.parts)
        return
    evidence = "no row of annotations.csv, no size in annotations_excluded.csv"
    none = Label(field="nodule", value="none", evidence=evidence)
    nodule = Label(field="nodule", value="nodule", state=LabelState.ABSENT, evidence=evidence)
    at = (header.whole_slice(drawn_slice(scan.uid, header.size[2], _LEVELS)),) if header else ()
    yield Case(key=key, images=(image,), patient=scan.patient, labels=(none, nodule), guide=at)


def _image(scan: _Scan) -> tuple[MetaImageHeader | None, ImageRef]:
    """Return the header of a scan, ``None`` if missing from the copy, and its volume."""
    path = scan.paths[0]
    if len(scan.paths) > 1:
        raise RowError(f"{scan.uid}: lies in {len(scan.paths)} subsets; expected one")
    if not path.exists():
        return None, ImageRef(paths=(path,))
    header = read_metaimage_header(path)
    if header.element != "MET_SHORT" or set(header.spacing) == {1.0}:
        raise RowError(f"{path.name} is not the scan of the release but a resampled copy of it")
    return header, ImageRef(paths=(path,), parts=(path.with_name(header.data_file),))
