"""Duke-Breast-Cancer-MRI: a mapping sheet names every slice, a second one boxes the tumour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from medrcube.errors import SourceError
from medrcube.records import Case, ImageRef, Label, Outline, Polygons, Region, Skip, State
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.spreadsheets import read_sheet
from medrcube.sources.tables import Row, index_names

MAPPING = "Breast-Cancer-MRI-filepath_filename-mapping.xlsx"
BOXES = "Annotation_Boxes.xlsx"
CLINIC = "Clinical_and_Other_Features.xlsx"
BOX = ("Start Row", "End Row", "Start Column", "End Column", "Start Slice", "End Slice")
FOCI = ("Multicentric/Multifocal", "Contralateral Breast Involvement", "Bilateral Information")
FACTS = ("Histologic type", "Nottingham grade", "Tumor Location", *FOCI)
NOTHING = ("", "NA", "NC", "NP")
BOXED = "post_1"
USED = ("pre", BOXED, "T1")
LATER = ("post_2", "post_3", "post_4")

_NAME = re.compile(
    r"DICOM_Images/(?P<patient>Breast_MRI_\d{3})/(?P<series>[^/]+)/.*_0*(?P<n>\d+)\.dcm"
)
_FILE = re.compile(r"(?:.*/)?(Breast_MRI_\d{3})/(?:[^/]+/)?([^/]+)/\d+-0*(\d+)\.(?i:dcm)")


@dataclass(frozen=True, slots=True)
class _Series:
    """Slices of one series: number -> path and SOP instance UID."""

    paths: dict[int, Path] = field(default_factory=dict)
    uids: dict[int, str] = field(default_factory=dict)


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield three series of every patient; later phases look like the first and are set aside."""
    del layout
    sheets = index_names(root)
    boxes, clinic = {}, {}
    if BOXES in sheets:
        boxes = _by_patient(read_sheet(sheets[BOXES], columns=("Patient ID", *BOX)))
    if CLINIC in sheets:
        columns = ("Patient ID", *FACTS)
        rows = read_sheet(sheets[CLINIC], columns=columns, sheet="Data", header=2, data=4)
        clinic = _by_patient(rows)
    mapping = _mapping(root, sheets.get(MAPPING, root / MAPPING))
    for (patient, name), series in sorted(mapping.items()):
        key, paths = f"{patient}-{name}", tuple(series.paths[n] for n in sorted(series.paths))
        if name not in USED:
            reason = "a later phase, which looks like the first"
            if name not in LATER:
                reason = f"{name!r} is none of the known series ({', '.join((*USED, *LATER))})"
            yield Skip(key=key, reason=reason, paths=paths)
            continue
        row, box = clinic.get(patient), boxes.get(patient)
        shown = name == BOXED and box is not None
        try:
            regions = (_region(box, series, row),) if shown and box is not None else ()
        except SourceError as error:
            yield Skip(key=key, reason=str(error), paths=paths)
            continue
        labels = [Label(field="series", value=name, evidence=f"{MAPPING} {key}")]
        if shown and row is not None:
            labels += _diagnosis(row)
        yield Case(
            key=key,
            images=(ImageRef(paths=paths, frame=None if shown else len(paths) // 2),),
            patient=patient,
            labels=tuple(labels),
            regions=regions,
            facts=row.facts(side="Tumor Location") if row is not None else (),
        )


def _by_patient(rows: Iterable[Row]) -> dict[str, Row]:
    return {row["Patient ID"]: row for row in rows}


def _mapping(root: RawTree, path: Path) -> Mapping[tuple[str, str], _Series]:
    """Every series by patient and name, with the files that this copy has for it."""
    there: dict[tuple[str, str], dict[int, Path]] = {}
    for name in root.names:
        if found := _FILE.fullmatch(name):
            there.setdefault((found[1], found[2]), {})[int(found[3])] = root / name
    folders: dict[tuple[str, str], list[str]] = {}
    for patient, folder in there:
        folders.setdefault((patient, folder[-5:]), []).append(folder)
    mapping: dict[tuple[str, str], _Series] = {}
    columns = ("sop_instance_UID", "original_path_and_filename", "classic_path")
    for row in read_sheet(path, columns=columns):
        named, classic = _NAME.fullmatch(row[columns[1]]), Path(row["classic_path"])
        if named is None:
            raise SourceError(
                f"{row.cite(columns[1])}: expected DICOM_Images/Breast_MRI_NNN/series/..._NNN.dcm"
            )
        patient, uid = named["patient"], classic.parent.name
        # Descriptive folder names end with the last five digits of the series UID.
        likely = [uid] if (patient, uid) in there else folders.get((patient, uid[-5:]), [])
        files = there[patient, likely[0]] if len(likely) == 1 else {}
        number = int(named["n"])
        series = mapping.setdefault((patient, named["series"]), _Series())
        # The sheet pads 1-052.dcm where the disk has 1-52.dcm: files are found by number.
        on_disk = int(classic.stem.rpartition("-")[2])
        series.paths[number] = files.get(on_disk, root / classic)
        series.uids[number] = row["sop_instance_UID"]
    return mapping


def _region(box: Row, series: _Series, row: Row | None) -> Region:
    """The box on each of its slices; corners count from 1 and the last slice lies outside."""
    top, bottom, left, right, first, end = (box.integer(column) for column in BOX)
    corners = ((left, top), (right, top), (right, bottom), (left, bottom))
    points = tuple((x - 1.0, y - 1.0) for x, y in corners)
    uids = [series.uids[n] for n in range(first, max(end, first + 1)) if n in series.uids]
    if not uids:
        raise SourceError(
            f"{box.cite('Start Slice')}: the mapping sheet has no such slice of {BOXED}; the card "
            "assumes that boxes use the slice numbers of original_path_and_filename"
        )
    alone = row is not None and all(row[column] == "0" for column in FOCI)
    return Region(
        field="cancer" if alone else "one_of_several",
        value="tumor",
        shape=Polygons(outlines=tuple(Outline(points=points, slice=uid) for uid in uids)),
        evidence=box.cite("Start Slice"),
    )


def _diagnosis(row: Row) -> Iterator[Label]:
    """Histology and grade, open where the sheet does not deny a second cancer on the other side."""
    state = State.PRESENT if row["Bilateral Information"] == "0" else State.UNKNOWN
    for column, name in (("Histologic type", "histology"), ("Nottingham grade", "nottingham")):
        if row[column] not in NOTHING:
            yield row.label(column, field=name, state=state)
