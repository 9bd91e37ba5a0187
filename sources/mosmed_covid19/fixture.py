"""A synthetic study of each grade, two of CT-1 with masks, stored along either affine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.chest_ct import chest, tumour
from medrcube.sources._synthetic.images import CANARY, write_lines, write_nifti
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet

STUDIES = (
    (1, "CT-0"),
    (2, "CT-0"),
    (255, "CT-1"),
    (256, "CT-1"),
    (400, "CT-1"),
    (939, "CT-2"),
    (1074, "CT-3"),
    (1109, "CT-4"),
)
MASKED = {255, 256}


def build(root: Path, layout: str) -> None:
    """Write eight studies, their registry and the masks."""
    del layout
    folder = root / "COVID19_1110"
    rows: list[list[str | None]] = [["study_id", "category", "study_file", "mask_file"]]
    for number, grade in STUDIES:
        name = f"study_{number:04}"
        lesion = tumour(seed=number) if grade != "CT-0" else None
        file = f"studies/{grade}/{name}.nii.gz"
        mask = f"masks/{name}_mask.nii.gz" if number in MASKED else None
        _write(folder / file, chest(seed=number, tumour=lesion), number)
        if mask and lesion is not None:
            _write(folder / mask, lesion.astype(np.uint8), number)
        rows.append([name, grade, f"/{file}", f"/{mask}" if mask else None])
    write_spreadsheet(folder / "dataset_registry.xlsx", {"MosMedData COVID19_1110": rows})
    write_lines(folder / "README_EN.md", [CANARY])


def _write(path: Path, volume: np.ndarray, number: int) -> None:
    """Volumes of even number run from right to left, the others from left to right."""
    mirrored = number % 2 == 0
    voxels = volume if mirrored else volume[:, ::-1, ::-1]
    signs = (-1, -1, 1) if mirrored else (1, 1, 1)
    write_nifti(path, voxels, spacing=(2.0, 2.0, 8.0), signs=signs)
