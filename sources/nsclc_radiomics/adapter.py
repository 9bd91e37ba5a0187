"""NSCLC-Radiomics: tumour and organs contoured on planning CT, as SEG, RTSTRUCT or both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from medrcube.errors import ReadError, RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, MaskFile, Region, Skip
from medrcube.sources._formats.dicom.headers import (
    read_header,
    referenced_series,
    rois_of,
    segments_of,
    series_in,
)
from medrcube.sources._formats.dicom.patients import files_by_patient, skip_unreadable_slices
from medrcube.sources._formats.tables.rows import group_by_name
from medrcube.sources._formats.tables.tables import TableRow, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

PICTURES = {
    "tumor": ("GTV-1",),
    "lungs": ("Lung-Left", "Lung-Right", "Lungs-Total"),
    "heart": ("Heart", "Esophagus", "Spinal-Cord"),
}
"""Structures shown together on an image, on the slice where they are largest."""

ONE_SIDE = ({"Lung-Left"}, {"Lung-Right"})
CARD = own_card(__file__)
_PATIENT = CARD.pattern("patient")
_FACTS = {"age": "age", "sex": "gender", "histology": "Histology", "stage": "Overall.Stage"}
Series = Mapping[str, tuple[Path, ...]]


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield up to three cases per patient; series are identified by their headers."""
    del layout
    clinical, skips = _clinical(root)
    yield from skips
    for patient, files in files_by_patient(root, _PATIENT):
        yield from skip_unreadable_slices(patient, files)
        try:
            yield from list(_patient(patient, files, clinical.get(patient)))
        except RowError as error:
            yield Skip(key=patient, reason=str(error), paths=tuple(files), code=BAD_ROW)
        except ReadError as error:  # one damaged header must not affect other patients
            yield Skip(key=patient, reason=str(error), paths=tuple(files))


def _patient(patient: str, paths: Sequence[Path], row: TableRow | None) -> Iterator[Case | Skip]:
    kinds: dict[str, dict[str, tuple[Path, ...]]] = {}
    for uid, files in series_in(paths).items():
        header = read_header(files[0], ("Modality", "PatientID"))
        if header.get("PatientID") != patient:
            reason = "its header names another patient than its folder; expected them to agree"
            yield Skip(key=f"{patient}/{files[0].parent.name}", reason=reason, paths=files)
            continue
        kinds.setdefault(header.get("Modality", ""), {})[uid] = files
    scans = kinds.get("CT", {})
    drawings = [
        file
        for kind in ("SEG", "RTSTRUCT")
        for files in kinds.get(kind, {}).values()
        for file in files
    ]
    scan = _planning_scan(scans, drawings)
    used: set[Path] = set(scans.get(scan, ()))
    for case in _pictures(patient, scans.get(scan, ()), scan, drawings, row):
        used.update(case.files() if isinstance(case, Case) else ())
        yield case
    for series in (files for kind in kinds.values() for files in kind.values()):
        if used.isdisjoint(series):
            reason = "another series of the patient, on which nothing is drawn that is asked about"
            yield Skip(key=f"{patient}/{series[0].parent.name}", reason=reason, paths=series)


def _planning_scan(scans: Series, drawings: list[Path]) -> str:
    """Return the CT that was contoured, or else the one with the most files."""
    for drawing in drawings:
        for uid in referenced_series(drawing):
            if uid in scans:
                return uid
    return max(sorted(scans), key=lambda uid: len(scans[uid]), default="")


def _pictures(
    patient: str, scan: tuple[Path, ...], uid: str, drawings: list[Path], row: TableRow | None
) -> Iterator[Case | Skip]:
    regions_by_name: dict[str, list[Region]] = {}
    for path in drawings:
        if uid in (referenced_series(path) or (uid,)):
            for region in _regions(path):
                regions_by_name.setdefault(region.value, []).append(region)
    structures_drawn = {
        name: replace(first, rivals=tuple(other.shape for other in others))
        for name, (first, *others) in regions_by_name.items()
    }
    for name, structures in PICTURES.items():
        regions = tuple(
            structures_drawn[structure] for structure in structures if structure in structures_drawn
        )
        key = f"{patient}-{name}"
        if {region.value for region in regions} in ONE_SIDE:
            yield Skip(key=key, reason="one lung is drawn and the other, which shows, is not")
        elif not scan or not regions:
            yield Skip(key=key, reason=_lack(scan, structures, drawings))
        else:
            yield Case(
                key=key,
                images=(ImageRef(paths=scan),),
                patient=patient,
                labels=tuple(_labels(name, regions[0].evidence)),
                regions=regions,
                facts=_facts(row),
            )


def _lack(scan: tuple[Path, ...], structures: Sequence[str], drawings: list[Path]) -> str:
    """Describe what is missing, and what exists in its place."""
    if not scan:
        return "the copy holds no CT series of this patient"
    names = sorted({name for path in drawings for name in _names(path)})
    return (
        f"SEG and RTSTRUCT of this patient hold {', '.join(names) or 'nothing'}; expected "
        f"{' or '.join(structures)}"
    )


def _names(path: Path) -> tuple[str, ...]:
    return (*segments_of(path).values(), *rois_of(path))


def _regions(path: Path) -> Iterator[Region]:
    """Yield the regions of a file whose structure names are known."""
    segments = {name: number for number, name in segments_of(path).items()}
    names = {
        name: "tumor" if name == "GTV-1" else "organ" for part in PICTURES.values() for name in part
    }
    for name in (*segments, *rois_of(path)):
        if name in names:
            values = (segments[name],) if name in segments else ()
            shape = MaskFile(paths=(path,), values=values, member=None if values else name)
            evidence = f"{'SEG' if values else 'RTSTRUCT'} {name}"
            yield Region(field=names[name], value=name, shape=shape, evidence=evidence)


def _labels(name: str, evidence: str) -> Iterator[Label]:
    if name == "tumor":
        yield Label(field="tumor", value="GTV-1", evidence=evidence)
        yield Label(field="diagnosis", value="NSCLC", evidence="description of the collection")


def _clinical(root: RawTree) -> tuple[dict[str, TableRow], list[Skip]]:
    paths = root.part("clinic")
    if not paths:
        return {}, []
    rows = read_csv(paths[0], columns=("PatientID", *_FACTS.values()))
    rows_of, skips = group_by_name(rows, "PatientID")
    return {name: own[-1] for name, own in rows_of.items()}, skips


def _facts(row: TableRow | None) -> tuple[tuple[str, str], ...]:
    pairs = row.facts(**_FACTS) if row is not None else ()
    return tuple((name, value) for name, value in pairs if value != "NA")
