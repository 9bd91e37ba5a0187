"""Duke-Breast-Cancer-MRI: a mapping sheet lists all slices, a second sheet has tumour boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from medrcube.errors import RowError, SourceError
from medrcube.facts import (
    BAD_ROW,
    Case,
    ImageRef,
    Label,
    LabelState,
    Outline,
    Polygons,
    Region,
    Skip,
)
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._formats.tables.rows import group_by_name
from medrcube.sources._formats.tables.spreadsheets import read_sheet
from medrcube.sources._formats.tables.tables import TableRow, find_optional_table, find_table
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

MAPPING = "Breast-Cancer-MRI-filepath_filename-mapping.xlsx"
BOX = ("Start Row", "End Row", "Start Column", "End Column", "Start Slice", "End Slice")
FOCI = ("Multicentric/Multifocal", "Contralateral Breast Involvement", "Bilateral Information")
FACTS = ("Histologic type", "Nottingham grade", "Tumor Location", *FOCI)
NOTHING = ("", "NA", "NC", "NP")
BOXED = "post_1"
USED = ("pre", BOXED, "T1")
LATER = ("post_2", "post_3", "post_4")

CARD = own_card(__file__)
_NAME = CARD.pattern("original_path", "patient", "series", "number")
_CLASSIC = CARD.pattern("classic_name")
_FILE = CARD.pattern("file", "patient", "folder", "number")


@dataclass(frozen=True, slots=True)
class _Series:
    """One series: slice number -> path and SOP instance UID, and unusable rows."""

    paths: dict[int, Path] = field(default_factory=dict)
    uids: dict[int, str] = field(default_factory=dict)
    faults: list[RowError] = field(default_factory=list)


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield three series per patient; later phases resemble the first and are skipped."""
    del layout
    boxes: dict[str, list[TableRow]] = {}
    clinic: dict[str, list[TableRow]] = {}
    if (sheet := find_optional_table(root, "boxes")) is not None:
        rows = read_sheet(sheet, columns=("Patient ID", *BOX))
        boxes, nameless = group_by_name(rows, "Patient ID")
        yield from nameless
    if (sheet := find_optional_table(root, "clinic")) is not None:
        columns = ("Patient ID", *FACTS)
        rows = read_sheet(sheet, columns=columns, sheet="Data", header=2, data=4)
        clinic, nameless = group_by_name(rows, "Patient ID")
        yield from nameless
    mapping, lost = _mapping(root, find_table(root, "mapping"))
    yield from lost
    for (patient, name), series in sorted(mapping.items()):
        key, paths = f"{patient}-{name}", tuple(series.paths[n] for n in sorted(series.paths))
        if series.faults:
            yield Skip(key=key, reason=str(series.faults[0]), paths=paths, code=BAD_ROW)
            continue
        if name not in USED:
            reason = "a later phase, which looks like the first"
            if name not in LATER:
                expected = (*USED, *LATER)
                shape = redact_cell(name, expected)
                reason = f"{shape} is none of the known series ({', '.join(expected)})"
            yield Skip(key=key, reason=reason, paths=paths)
            continue
        row, box = (next(iter(table.get(patient, ())), None) for table in (clinic, boxes))
        boxed = name == BOXED and box is not None
        try:
            regions = (_region(box, series, row),) if boxed and box is not None else ()
        except SourceError as error:
            code = BAD_ROW if isinstance(error, RowError) else "set-aside"
            yield Skip(key=key, reason=str(error), paths=paths, code=code)
            continue
        labels = [Label(field="series", value=name, evidence=f"{MAPPING} {key}")]
        if boxed and row is not None:
            labels += _diagnosis(row)
        yield Case(
            key=key,
            images=(ImageRef(paths=paths, frame=None if boxed else len(paths) // 2),),
            patient=patient,
            labels=tuple(labels),
            regions=regions,
            facts=row.facts(side="Tumor Location") if row is not None else (),
        )


def _mapping(root: RawTree, path: Path) -> tuple[Mapping[tuple[str, str], _Series], Sequence[Skip]]:
    """Return every series by patient and name, with its files in this copy.

    An unusable row invalidates the series of its folder; if that is unknown too, it becomes a
    ``Skip``.
    """
    there: dict[tuple[str, str], dict[int, Path]] = {}
    for name in root.names:
        if match := _FILE.fullmatch(name):
            slices = there.setdefault((match["patient"], match["folder"]), {})
            slices[int(match["number"])] = root / name
    folders: dict[tuple[str, str], list[str]] = {}
    for patient, folder in there:
        folders.setdefault((patient, folder[-5:]), []).append(folder)
    mapping: dict[tuple[str, str], _Series] = {}
    homes: dict[Path, _Series] = {}
    spoilt: list[tuple[Path, RowError, TableRow]] = []
    columns = ("sop_instance_UID", "original_path_and_filename", "classic_path")
    for row in read_sheet(path, columns=columns):
        parts, classic = _NAME.fullmatch(row[columns[1]]), Path(row["classic_path"])
        if parts is None:
            expected = "expected DICOM_Images/Breast_MRI_NNN/series/..._NNN.dcm"
            spoilt.append((classic.parent, RowError(f"{row.quote(columns[1])}: {expected}"), row))
            continue
        patient, uid = parts["patient"], classic.parent.name
        series = mapping.setdefault((patient, parts["series"]), _Series())
        if not row[columns[0]] or not _CLASSIC.fullmatch(classic.name):
            column = "classic_path" if row[columns[0]] else columns[0]
            fault = f"{row.quote(column)}: expected the UID and the path of a slice"
            series.faults.append(RowError(fault))
            continue
        homes[classic.parent] = series
        # Descriptive folder names end with the last five digits of the series UID.
        likely = [uid] if (patient, uid) in there else folders.get((patient, uid[-5:]), [])
        files = there[patient, likely[0]] if len(likely) == 1 else {}
        number = int(parts["number"])
        # The sheet has 1-052.dcm for the file 1-52.dcm, so files are matched by number.
        on_disk = int(classic.stem.rpartition("-")[2])
        series.paths[number] = files.get(on_disk, root / classic)
        series.uids[number] = row["sop_instance_UID"]
    lost: list[Skip] = []
    for home, error, row in spoilt:
        if home in homes:
            homes[home].faults.append(error)
        else:
            lost.append(Skip(key=row.place, reason=str(error), code=BAD_ROW))
    return mapping, lost


def _region(box: TableRow, series: _Series, row: TableRow | None) -> Region:
    """Return the box on its slices; corners count from 1, and the last slice is exclusive."""
    top, bottom, left, right, first, end = (box.integer(column) for column in BOX)
    corners = ((left, top), (right, top), (right, bottom), (left, bottom))
    points = tuple((x - 1.0, y - 1.0) for x, y in corners)
    uids = [series.uids[n] for n in range(first, max(end, first + 1)) if n in series.uids]
    if not uids:
        raise SourceError(
            f"{box.quote('Start Slice')}: the mapping sheet has no such slice of {BOXED}; the card "
            "assumes that boxes use the slice numbers of original_path_and_filename"
        )
    alone = row is not None and all(row[column] == "0" for column in FOCI)
    return Region(
        field="cancer" if alone else "one_of_several",
        value="tumor",
        shape=Polygons(
            outlines=tuple(Outline(points=points, slice=uid) for uid in uids), boxes=True
        ),
        evidence=box.cite("Start Slice"),
    )


def _diagnosis(row: TableRow) -> Iterator[Label]:
    """Yield histology and grade; unknown unless a contralateral cancer is denied."""
    state = LabelState.PRESENT if row["Bilateral Information"] == "0" else LabelState.UNKNOWN
    for column, name in (("Histologic type", "histology"), ("Nottingham grade", "nottingham")):
        if row[column] not in NOTHING:
            yield row.label(column, field=name, state=state)
