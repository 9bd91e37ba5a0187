"""LIDC-IDRI: one slice per nodule marked by three of four readers, and per clear scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from medrcube.errors import ReadError, TableError
from medrcube.facts import (
    BAD_ROW,
    Case,
    Consensus,
    ImageRef,
    Label,
    LabelState,
    Outline,
    Polygons,
    Region,
    Scope,
    Skip,
)
from medrcube.sources._formats.annotations.lidc_xml import (
    NoduleMark,
    SeriesReading,
    Unreadable,
    has_one_mark_per_reader,
    largest_slice,
    match_marks,
    median_rating,
    read_reading,
)
from medrcube.sources._formats.borrowed_levels import drawn_slice
from medrcube.sources._formats.dicom.headers import in_slice_order, read_header, series_in
from medrcube.sources._formats.dicom.patients import files_by_patient, skip_unreadable_slices
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._formats.tables.spreadsheets import read_cells
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
PATIENT = CARD.pattern("patient")
READERS, NEEDED = CARD.integer("readers"), CARD.integer("least_readers_of_nodule")
LEVELS = CARD.numbers("nodule_levels", 10)
MOST_SHOWN = 4
"""Maximum number of images side by side in a case (see ``contract``)."""
RATINGS = ("texture", "margin", "malignancy")
HEADS = ("TCIA Patient ID", "Diagnosis at the Patient Level", "Diagnosis Method")
Nodule = Sequence[NoduleMark]
_Slice = tuple[str, Path]
_Reading = SeriesReading | Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """One CT series and its reading."""

    name: str
    patient: str
    files: tuple[Path, ...]
    reading: SeriesReading
    spacing: float
    thickness: float


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield cases patient by patient; images and readings are joined by SeriesInstanceUID."""
    del layout  # series are identified by header, not by folder name
    readings, lost = _readings(root)
    truth = _diagnoses(root)
    yield from lost
    uids: set[str] = set()
    for patient, files in files_by_patient(root, PATIENT):
        yield from skip_unreadable_slices(patient, files)
        try:
            series = series_in(files)
            patient_cases = list(_patient(patient, series, readings))
        except ReadError as error:  # one damaged header must not stop a thousand patients
            yield Skip(key=patient, reason=str(error), paths=tuple(files))
            continue
        uids.update(series)
        yield from _diagnosed(patient, patient_cases, truth.get(patient))
    for uid in sorted(readings.keys() - uids):
        yield Skip(key=uid, reason="the CT series of this reading is not in this copy")


def _patient(
    patient: str, series: Mapping[str, tuple[Path, ...]], readings: Mapping[str, _Reading]
) -> Iterator[Case | Skip]:
    for uid, files in series.items():
        scan = _scan(patient, uid, files, readings)
        if isinstance(scan, Skip):
            yield scan
            continue
        scan_cases = list(_nodules(scan))
        yield from scan_cases
        yield _rest(scan, scan_cases)


def _scan(
    patient: str, uid: str, files: tuple[Path, ...], readings: Mapping[str, _Reading]
) -> _Scan | Skip:
    header = read_header(files[0], ("Modality", "PixelSpacing", "SliceThickness"))
    name = f"{patient}-{uid[-5:]}"
    reading = readings.get(uid)
    if header.get("Modality") != "CT":
        reason = "a chest X-ray of the same patient, which is read in another way"
    elif reading is None:
        reason = "no reading names this CT series; are the XML files complete?"
    elif isinstance(reading, Unreadable):
        return Skip(key=name, reason=reading.reason, paths=files, code=BAD_ROW)
    elif reading.readers != READERS:
        reason = f"holds {reading.readers} reading sessions; expected {READERS}"
    else:
        spacing, thickness = (
            _millimetres(header, keyword) for keyword in ("PixelSpacing", "SliceThickness")
        )
        if spacing and thickness:
            return _Scan(
                name=name,
                patient=patient,
                files=files,
                reading=reading,
                spacing=spacing,
                thickness=thickness,
            )
        reason = "its header states no pixel spacing or slice thickness, which matching needs"
    return Skip(key=name, reason=reason, paths=files)


def _millimetres(header: Mapping[str, str], keyword: str) -> float | None:
    """Return the first number of an element; ``None`` unless it is positive."""
    try:
        number = float(header.get(keyword, "").partition("\\")[0])
    except ValueError:
        return None
    return number if 0 < number < inf else None


def _nodules(scan: _Scan) -> Iterator[Case | Skip]:
    if not scan.reading.marks:
        yield _clear(scan)
        return
    slices = {read_header(path, ("SOPInstanceUID",))["SOPInstanceUID"]: path for path in scan.files}
    marks = scan.reading.marks
    nodules = match_marks(marks, spacing=scan.spacing, thickness=scan.thickness, readers=READERS)
    for number, nodule in enumerate(nodules, 1):
        key = f"{scan.name}-{number}"
        uid = largest_slice(nodule)
        if not has_one_mark_per_reader(nodule):
            reason = "one reader marked it twice, so two nodules may have been taken for one"
        elif len(nodule) < NEEDED:
            reason = f"marked by {len(nodule)} of {READERS} readers, so it stays uncertain"
        elif uid not in slices:
            reason = "the slice on which it is largest is not in this copy, or cannot be read"
        else:
            others = [other for other in nodules if other is not nodule]
            yield _case(scan, key, nodule, others, (uid, slices[uid]))
            yield from _unrated(key, nodule)
            continue
        yield Skip(key=key, reason=reason)


def _unrated(key: str, nodule: Nodule) -> Iterator[Skip]:
    for name in RATINGS:
        rated = sum(name in mark.ratings for mark in nodule)
        if rated < len(nodule):
            reason = f"{name} is rated by {rated} of {len(nodule)} readers, so it is not asked"
            yield Skip(key=f"{key}-{name}", reason=reason)


def _rest(scan: _Scan, scan_cases: Sequence[Case | Skip]) -> Skip:
    """Return a skip for the slices of a scan that are not used."""
    used = {path for case in scan_cases if isinstance(case, Case) for path in case.files()}
    rest = tuple(path for path in scan.files if path not in used)
    reason = "each nodule is shown on the slice where it is largest, a clear scan at such a level"
    return Skip(key=f"{scan.name}-other-slices", reason=reason, paths=rest)


def _case(scan: _Scan, key: str, nodule: Nodule, others: Sequence[Nodule], image: _Slice) -> Case:
    uid, path = image
    evidence = f"marked by {len(nodule)} of {READERS} readers"
    readings = tuple(Polygons(outlines=_outlines(mark, uid, edge=False)) for mark in nodule)
    shape = Consensus(readings=readings)
    regions = [Region(field="nodule", value="nodule", shape=shape, evidence=evidence)]
    labels = [Label(field="nodule", value="nodule", evidence=evidence)]
    for other in others:
        lines = tuple(line for mark in other for line in _outlines(mark, uid, edge=True))
        if lines:  # marked by any reader: the slice then contains more than one nodule
            beside = f"{evidence}; another one by {len(other)}"
            outline = Polygons(outlines=lines)
            regions.append(Region(field="nodule", value="nodule", shape=outline, evidence=beside))
    if len(regions) == 1:
        labels.extend(label for name in RATINGS for label in _rated(nodule, name))
    return Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        patient=scan.patient,
        labels=tuple(labels),
        regions=tuple(regions),
        facts=(("readers", str(len(nodule))),),
        sidecars=(scan.reading.path,),
        series=scan.files,
    )


def _clear(scan: _Scan) -> Case:
    """Return a slice, at the level of a nodule, of a scan without any nodule of 3 mm or more."""
    ordered = in_slice_order(scan.files)
    at = drawn_slice(scan.reading.series, len(ordered), LEVELS)
    evidence = f"no mark by {READERS} readers in the whole scan"
    return Case(
        key=f"{scan.name}-clear",
        images=(ImageRef(paths=(ordered[at],)),),
        patient=scan.patient,
        labels=(
            Label(field="nodule", value="none", evidence=evidence),
            Label(field="nodule", value="nodule", state=LabelState.ABSENT, evidence=evidence),
        ),
        sidecars=(scan.reading.path,),
        series=scan.files,
    )


def _outlines(mark: NoduleMark, uid: str, *, edge: bool) -> tuple[Outline, ...]:
    """Return the contours of one reader on a slice, without those that enclose nothing."""
    return tuple(
        Outline(points=contour.points, slice=uid, hole=contour.hole, edge=edge)
        for contour in mark.contours
        if contour.slice == uid and len(contour.points) > 2
    )


def _rated(nodule: Nodule, name: str) -> Iterator[Label]:
    """Yield the median rating; ratings of single readers are unknown, so never distractors."""
    median = median_rating(nodule, name)
    if median is None:
        return
    ratings = [mark.ratings[name] for mark in nodule]
    evidence = f"{name} rated {', '.join(map(str, sorted(ratings)))}"
    yield Label(field=name, value=f"{median:g}", evidence=evidence)
    for value in sorted(set(ratings) - {median}):
        yield Label(field=name, value=str(value), state=LabelState.UNKNOWN, evidence=evidence)


def _diagnosed(
    patient: str, patient_cases: Sequence[Case | Skip], label: Label | None
) -> Iterator[Case | Skip]:
    """Add the diagnosis of a patient to the case that shows all nodules of the first scan.

    A single nodule gets it directly; several are put side by side.
    """
    nodules = [case for case in patient_cases if isinstance(case, Case) and case.regions]
    first = nodules[0].key.rpartition("-")[0] if nodules else ""
    first_scan = [case for case in nodules if case.key.rpartition("-")[0] == first]
    key = f"{patient}-diagnosis"
    for case in patient_cases:
        if label and isinstance(case, Case) and first_scan == [case]:
            yield replace(case, labels=(*case.labels, label), shows=Scope.PATIENT)
        else:
            yield case
    if label is None or len(first_scan) < 2:
        return
    if len(first_scan) > MOST_SHOWN:
        yield Skip(key=key, reason=f"{len(first_scan)} nodules; one picture shows {MOST_SHOWN}")
        return
    yield Case(
        key=key,
        images=tuple(case.images[0] for case in first_scan),
        patient=patient,
        labels=(label,),
        shows=Scope.PATIENT,
        sidecars=first_scan[0].sidecars,
    )


def _readings(root: RawTree) -> tuple[dict[str, _Reading], list[Skip]]:
    """Return the reading of each series, or why there is none, and skips for unassignable files.

    Files of one series must agree unless one is a correction. An unreadable file may contradict
    the others, so its series has no reading.
    """
    readings: dict[str, _Reading] = {}
    lost: list[Skip] = []
    corrected: set[str] = set()
    paths = root.part("readings")
    for path in sorted(paths, key=lambda path: ("correction" not in path.name, str(path))):
        reading = read_reading(path)
        if reading is None or reading.series in corrected:
            continue
        if isinstance(reading, Unreadable) and not reading.series:
            reason = f"{reading.reason} (which CT series it reads cannot be told)"
            key = path.relative_to(root.path).as_posix()
            lost.append(Skip(key=key, reason=reason, paths=(path,), code=BAD_ROW))
            continue
        if "correction" in path.name:
            corrected.add(reading.series)
        before = readings.setdefault(reading.series, reading)
        if isinstance(reading, Unreadable):
            readings[reading.series] = reading
        elif isinstance(before, SeriesReading) and before != reading:
            reason = "two readings of this series contradict each other"
            readings[reading.series] = Unreadable(series=reading.series, reason=reason)
    return readings, lost


def _diagnoses(root: RawTree) -> dict[str, Label]:
    """Return the diagnosis of each patient; empty without a readable table."""
    paths = root.part("diagnoses")
    if not paths:
        return {}
    name = paths[0].name
    head, *rows = read_cells(paths[0], sheet="Diagnosis Truth") or [()]
    if [cell.strip()[: len(name)] for cell, name in zip(head, HEADS, strict=False)] != [*HEADS]:
        raise TableError(
            paths[0],
            f"expected columns that begin with {', '.join(HEADS)}; found "
            f"{', '.join(redact_cell(cell, HEADS) for cell in head[:3])}: is this another edition?",
        )
    diagnoses: dict[str, Label] = {}
    for line, cells in enumerate(rows, 2):
        patient, code, method = (cell.strip() for cell in (*cells, "", "", "")[:3])
        if not patient:
            continue
        # A missing method is no evidence, and two years without growth contradict a malignant code.
        open_case = method in {"", "0"} or (method == "1" and code != "1")
        state = LabelState.UNKNOWN if open_case else LabelState.PRESENT
        evidence = f"{name}:{line} diagnosis={code} method={method}"
        diagnoses[patient] = Label(field="diagnosis", value=code, state=state, evidence=evidence)
    return diagnoses
