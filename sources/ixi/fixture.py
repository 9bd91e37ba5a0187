"""Synthetic IXI volumes: every sequence and site, T1 in its own axis order, doubled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.head import Sequence, head_volume
from medrcube.sources._synthetic.images import CANARY, write_lines, write_nifti
from medrcube.sources._synthetic.spreadsheets import Value, write_spreadsheet

SUBJECTS = ("IXI002-Guys-0828", "IXI012-HH-1211", "IXI219-IOP-0998")
HEADER = (
    *("IXI_ID", "SEX_ID (1=m, 2=f)", "HEIGHT", "WEIGHT", "ETHNIC_ID", "MARITAL_ID"),
    *("OCCUPATION_ID", "QUALIFICATION_ID", "DOB", "DATE_AVAILABLE", "STUDY_DATE", "AGE"),
)
ROWS: tuple[tuple[Value, ...], ...] = (
    (1, 1, 170, 80, 1, 3, 5, 2, CANARY, 0, None, None),
    (2, 2, 164, 58, 1, 4, 1, 5, CANARY, 1, CANARY, 35.800137),
    (2, 2, 0, 0, 0, 0, 0, 0, CANARY, 1, CANARY, None),
    (12, 1, 1520, 70, 1, 2, 1, 5, CANARY, 1, CANARY, 38.781656),
    (219, 1, 0, 0, 0, 0, 0, 0, CANARY, 1, CANARY, 51.2),
    (219, 1, 0, 0, 0, 0, 0, 0, CANARY, 1, CANARY, 60.1),
    (328, 1, 0, 0, 0, 0, 0, 0, CANARY, 1, CANARY, 40.5),
    (328, 2, 0, 0, 0, 0, 0, 0, CANARY, 1, CANARY, 40.5),
)


def build(root: Path, layout: str) -> None:
    """Write T1, T2, PD and MRA of three subjects, one DTI volume and the table."""
    del layout
    suffix = ".nii.gz"
    for seed, subject in enumerate(SUBJECTS):
        _sagittal(root / f"IXI-T1/{subject}-T1{suffix}", seed)
        _axial(root / f"IXI-T2/{subject}-T2{suffix}", seed, "t2")
        _axial(root / f"IXI-PD/{subject}-PD{suffix}", seed, "pd")
    _axial(root / f"IXI-MRA/{SUBJECTS[0]}-MRA{suffix}", 0, "mra")
    _axial(root / f"IXI-DTI/{SUBJECTS[0]}-DTI-00{suffix}", 0, "dwi")
    write_lines(root / "IXI-DTI/bvals.txt", ["0 1000"])
    sheets = {"Table": (HEADER, *ROWS), "Ethnicity": (("ID", "ETHNIC"), (1, "White"))}
    write_spreadsheet(root / "IXI.xls", sheets)


def _axial(path: Path, seed: int, sequence: Sequence) -> None:
    write_nifti(path, _head(seed, sequence), spacing=(0.94, 0.94, 1.25), signs=(-1, -1, 1))


def _head(seed: int, sequence: Sequence) -> NDArray[np.int16]:
    """``(superior, anterior to posterior, right to left)``: the radiologist's axial stack."""
    return head_volume((72, 96, 90), seed=seed, sequence=sequence, maximum=700)


def _sagittal(path: Path, seed: int) -> None:
    """Axes to posterior, superior and right, as T1 volumes are stored."""
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = _head(seed, "t1").transpose(1, 0, 2)[:, :, ::-1]
    affine = np.array([[0, 0, 1.2, 0], [-0.9375, 0, 0, 0], [0, 0.9375, 0, 0], [0, 0, 0, 1]])
    make: Any = nibabel.Nifti1Image
    image = make(np.ascontiguousarray(voxels), affine)
    image.header["descrip"] = CANARY.encode()
    nibabel.save(image, path)
