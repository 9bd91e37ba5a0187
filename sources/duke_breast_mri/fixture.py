"""Synthetic women of both makers: turned by 180 degrees or not, one focus or several."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.breast import breast_lesion, breast_mr
from medrcube.sources._synthetic.images import CANARY, bounds, write_dicom
from medrcube.sources._synthetic.spreadsheets import Value, write_spreadsheet

SIDE, SLICES, BOXED = 96, 7, (3, 6)
# Histologic type, Nottingham grade, bilateral, multicentric, descriptive names, turned.
WOMEN: tuple[tuple[Value, Value, Value, Value, bool, bool], ...] = (
    (1, 2, 0, 0, False, True),
    (2, 1, 0, 0, True, False),
    (9, 3, 0, 1, False, True),
    (0, "NA", 0, 0, False, False),
    (3, 3, 0, 0, False, False),
    (5, 1, 1, 0, False, False),
    (None, None, "NC", 0, False, False),
)
SERIES = ("pre", "post_1", "post_2", "T1")
MAPPED = ("sop_instance_UID", "original_path_and_filename", "classic_path", "descriptive_path")
CLINIC = (
    *("Patient ID", "Manufacturer", "Nottingham grade", "Histologic type", "Tumor Location"),
    *("Bilateral Information", "Multicentric/Multifocal", "Contralateral Breast Involvement"),
    *("Shape", "Shape"),
)
EMPTY = ("NC", "NC")
BOXES = (
    *("Patient ID", "Start Row", "End Row", "Start Column", "End Column", "Start Slice"),
    "End Slice",
)


def build(root: Path, layout: str) -> None:
    """Write slices of all series of two women, of two for the others, and the sheets."""
    del layout
    mapping: list[list[Value]] = [[*MAPPED, " ", " "]]  # copies have empty columns
    boxes: list[list[Value]] = [list(BOXES)]
    clinic: list[list[Value]] = [
        ["Patient Information", "MRI Technical Information", *[None] * 8],
        list(CLINIC),
        [None, "GE MEDICAL SYSTEMS=0", "1=low 2=intermediate 3=high\n", *[None] * 7],
    ]
    for number, woman in enumerate(WOMEN, start=1):
        histology, grade, bilateral, multicentric, descriptive, turned = woman
        patient = f"Breast_MRI_{number:03}"
        for series in SERIES if number < 3 else SERIES[:2]:
            mapping += _write(root, patient, series, descriptive=descriptive, turned=turned)
        x0, y0, x1, y1 = _box(number, turned=turned)
        boxes.append([patient, y0 + 1, y1, x0 + 1, x1, *BOXED])
        foci = [bilateral, multicentric, 0]
        clinic.append([patient, 0 if turned else 2, grade, histology, _side(number), *foci, *EMPTY])
    write_spreadsheet(root / "Annotation_Boxes.xlsx", {"Sheet1": boxes})
    write_spreadsheet(
        root / "Clinical_and_Other_Features.xlsx", {"Data": clinic, "Legend": [[CANARY]]}
    )
    write_spreadsheet(
        root / "Breast-Cancer-MRI-filepath_filename-mapping.xlsx", {"Sheet1": mapping}
    )


def _write(
    root: Path, patient: str, series: str, *, descriptive: bool, turned: bool
) -> list[list[Value]]:
    woman, place = int(patient[-3:]), SERIES.index(series)
    stem = f"1.2.826.0.1.3680043.10.999.{woman}.{10000 + place}"
    rows: list[list[Value]] = []
    for n in range(1, SLICES + 1):
        pixels = _slice(woman, n, series)
        uid = f"{stem}.{n}"
        classic = f"Duke-Breast-Cancer-MRI/{patient}/{stem[:-6]}/{stem}/1-{n:03}.dcm"
        path = root / classic.replace(f"1-{n:03}", f"1-{n:02}")
        if descriptive:
            folder = path.parents[2] / "01-01-1990-NA-MRI BREAST-12345"
            path = folder / f"{place}.000000-ax dyn {series}-{stem[-5:]}" / path.name
        sign = -1 if turned else 1
        write_dicom(
            path,
            np.ascontiguousarray(pixels[::sign, ::sign]),
            Modality="MR",
            SOPInstanceUID=uid,
            SeriesInstanceUID=stem,
            InstanceNumber=n,
            PixelSpacing=[0.7, 0.7],
            SliceThickness=2,
            ImageOrientationPatient=[sign, 0, 0, 0, sign, 0],
            ImagePositionPatient=[-sign * 30, -sign * 30, 2 * n],
        )
        original = f"DICOM_Images/{patient}/{series}/{patient}_{series}_{n:03}.dcm"
        described = f"Duke-Breast-Cancer-MRI//{patient.replace('_', '')}/{series}/1-{n:03}.dcm"
        rows.append([uid, original, classic, described])
    return rows


def _slice(woman: int, number: int, series: str) -> NDArray[np.uint16]:
    """The tumour shines after contrast, in its slices only."""
    return _pixels(woman, series, shines=series.startswith("post") and number in range(*BOXED))


@functools.lru_cache(maxsize=2)
def _pixels(woman: int, series: str, *, shines: bool) -> NDArray[np.uint16]:
    tumour = breast_lesion(SIDE, seed=woman) if shines else None
    fat = 1500 if series == "T1" else 900
    return breast_mr(SIDE, seed=woman, maximum=fat, sequence=series, lesion=tumour)


def _side(woman: int) -> str:
    """The patient's right is at the left of an image that is not turned."""
    x0, _, x1, _ = _box(woman, turned=False)
    return "R" if x0 + x1 < SIDE else "L"


def _box(woman: int, *, turned: bool) -> tuple[int, int, int, int]:
    mask = breast_lesion(SIDE, seed=woman)
    return bounds(mask[::-1, ::-1] if turned else mask)
