"""A synthetic M&Ms-2: every group, slices stored in four ways, and an affine that lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.heart import four_chamber_labels, short_axis, short_axis_labels
from medrcube.sources._synthetic.images import CANARY, write_lines, write_nifti

SUBJECTS = {
    1: "NOR",
    2: "LV",
    3: "HCM",
    4: "ARR",
    5: "FALL",
    6: "CIA",
    7: "NOR",
    8: "HCM",
    161: "RV",
    201: "TRI",
    202: "LV",
}
LYING = 8
"""The subject whose affine is a dummy."""
UNMASKED = 161
"""The subject without masks in the older delivery."""
VENDORS = ("GE MEDICAL SYSTEMS", "Philips Medical Systems", "SIEMENS")
HEIGHT, WIDTH, COUNT = 96, 112, 6
EXTENTS = {1: (1, 6), 2: (1, 6), 3: (0, 5), 4: (0, 6)}
"""First slice of each structure and the one behind its last, from base to apex."""
SCALES = {"ED": 1.0, "ES": 0.75}
AXES = {
    "SA": np.array([[-0.763, -0.646, 0], [0.323, -0.382, -0.866], [-0.56, 0.661, -0.5]]).T,
    "LA": np.array([[-0.966, 0, -0.259], [-0.085, -0.945, 0.317], [-0.245, 0.328, 0.912]]).T,
}
"""Where columns, rows and slices run: right, anterior, superior."""


def build(root: Path, layout: str) -> None:
    """Write all subjects and the table; the older delivery ends at number 200."""
    top = root / ("MnM2" if layout == "dataset" else "MnM-2")
    rows = ["SUBJECT_CODE,DISEASE,VENDOR,SCANNER,FIELD"]
    for number, group in SUBJECTS.items():
        rows.append(f"{number},{group},{VENDORS[number % 3]},{CANARY},1.5")
        part = "dataset" if layout == "dataset" else "training" if number < 161 else "validation"
        if layout == "dataset" or number < 201:
            masked = layout == "dataset" or number != UNMASKED
            _subject(top / part / f"{number:03}", number, masked=masked)
    write_lines(top / "dataset_information.csv", [*rows, ",,,,", ",,,,"])


def _subject(folder: Path, number: int, *, masked: bool) -> None:
    for view, draw in (("SA", short_axis_labels), ("LA", four_chamber_labels)):
        count = COUNT if view == "SA" else 1
        volumes = []
        for phase, scale in SCALES.items():
            heart = draw(HEIGHT, WIDTH, seed=number, scale=scale)
            volumes.append(short_axis(heart, seed=number, count=count, maximum=900))
            mask = np.zeros((count, HEIGHT, WIDTH), np.uint8)
            for part in (1, 2, 3):
                first, end = EXTENTS[part] if view == "SA" else (0, 1)
                mask[first:end, heart == part] = part
            stem = f"{folder.name}_{view}_{phase}"
            _write(folder / f"{stem}.nii.gz", volumes[-1], view, number)
            if masked:
                _write(folder / f"{stem}_gt.nii.gz", mask, view, number)
        _write(folder / f"{folder.name}_{view}_CINE.nii.gz", np.stack(volumes), view, number)


def _write(
    path: Path, volume: NDArray[np.int16] | NDArray[np.uint8], view: str, number: int
) -> None:
    """Store slices as one of four scanners would: as shown, on the diagonal, or from the right."""
    axes, way = AXES[view], number % 4
    if way in {0, 1}:  # rows fastest
        volume, axes = volume.swapaxes(-2, -1), axes[:, [1, 0, 2]]
    if way in {0, 2}:
        volume, axes = volume[..., ::-1], axes * (-1, 1, 1)
    if number == LYING:
        axes = np.eye(3)
    write_nifti(path, volume, spacing=(1.4, 1.4, 10.0), axes=axes)
