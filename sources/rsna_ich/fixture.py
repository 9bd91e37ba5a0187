"""A few synthetic head CTs in flat folders, each slice with its six rows."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.head import head_ct
from medrcube.sources._synthetic.images import CANARY, write_dicom, write_lines
from medrcube.sources._synthetic.shapes import marker

_TYPES = ("epidural", "intraparenchymal", "intraventricular", "subarachnoid", "subdural")
# What each slice of each patient shows, from bottom to top, by first letters of the types.
_PATIENTS = (
    ("", "sd", "sd", "sd", "sd sa", "sd", ""),
    ("", "e", "e", ""),
    ("ip", "ip", "ip iv", "iv", "iv", "iv"),
    ("sa", "", "sa", "sa"),
    ("", "ip", "ip", "ip"),
    ("", "", ""),
    ("", "", "", ""),
    ("sd sa", ""),
)
_LETTERS = dict(zip(("e", "ip", "iv", "sa", "sd"), _TYPES, strict=True))
_WRAPPED, _TWICE, _CONTRADICTED, _EMPTY = 1, 2, 3, 6
"""Patients whose scanner lost the offset, with repeated rows, with wrong rows, and of air."""
_SIDE = 96


def build(root: Path, layout: str) -> None:
    """Write the slices under names that do not follow their order, and the table."""
    top = root / "rsna-intracranial-hemorrhage-detection"
    stage = layout.replace("-", "_")
    folder = top / f"{stage}_train{'_images' if layout == 'stage-1' else ''}"
    rows = ["ID,Label"]
    for patient, slices in enumerate(_PATIENTS):
        for number, letters in enumerate(slices):
            types = {_LETTERS[word] for word in letters.split()}
            seed = 10 * patient + number
            name = "ID_" + hashlib.md5(f"{seed}".encode(), usedforsecurity=False).hexdigest()[:9]
            _write_slice(folder / f"{name}.dcm", patient, number, types)
            wrong = patient == _CONTRADICTED and number == 1
            own = [f"{name}_{kind},{int(kind in types)}" for kind in _TYPES]
            own.append(f"{name}_any,{int(bool(types) or wrong)}")
            rows += own * (2 if patient == _TWICE else 1)
    write_lines(top / f"{stage}_train.csv", rows)
    hidden = np.zeros((_SIDE, _SIDE), np.int16)
    write_dicom(top / f"{stage}_test" / "ID_000000000.dcm", hidden, PixelRepresentation=1)


def _write_slice(path: Path, patient: int, number: int, types: set[str]) -> None:
    level = 0.12 * number - 0.2
    units = head_ct(_SIDE, _SIDE, seed=patient, level=level, bleeds=frozenset(types))
    if patient == _EMPTY:
        units = np.where(marker(_SIDE, _SIDE), units, -1000)
    tags = {
        "SOPInstanceUID": path.stem,
        "PatientID": f"ID_{CANARY}_{patient}",
        "StudyInstanceUID": f"ID_{CANARY}_study_{patient}",
        "SeriesInstanceUID": f"ID_{CANARY}_series_{patient}",
        "Modality": "CT",
        "ImagePositionPatient": [-125.0, -130.0, 5.0 * number],
        "ImageOrientationPatient": [1, 0, 0, 0, 1, 0],
        "PixelSpacing": [0.488, 0.488],
        "WindowCenter": [40, 40],
        "WindowWidth": [80, 80],
        "RescaleSlope": 1,
    }
    if patient == _WRAPPED:
        values = (units % 4096).astype(np.uint16)
        write_dicom(path, values, **tags, RescaleIntercept=0, BitsStored=12, HighBit=11)
    else:
        values = (units + 1024).astype(np.int16)
        write_dicom(path, values, **tags, RescaleIntercept=-1024, PixelRepresentation=1)
