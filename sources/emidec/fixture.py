"""A synthetic EMIDEC: infarcts with and without no-reflow, a tiny one, and normal hearts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.heart import short_axis, short_axis_labels
from medrcube.sources._synthetic.images import CANARY, write_lines, write_nifti

EXAMS = ("N006", "N012", "P001", "P003", "P007", "P010")
NO_REFLOW, TINY = ("P003",), "P010"
COUNT, HEIGHT, WIDTH, SPACING = 6, 96, 120, 1.46
CAVITY_SLICES, LARGEST = range(1, 5), 2
"""Slices with cavity and wall, and the one with the largest infarct."""


def build(root: Path, layout: str) -> None:
    """Write six exams, the text file of each and the readme."""
    top = root / "emidec-dataset-1.0.1"
    for seed, exam in enumerate(EXAMS):
        image, mask = _exam(exam, seed)
        folder = top / f"Case_{exam}"
        _write(folder / f"Images/Case_{exam}.nii.gz", layout, image)
        _write(folder / f"Contours/Case_{exam}.nii.gz", layout, mask)
        sex = "F" if seed % 2 else "M"
        lines = ("Gap between slices \u2020: 10 mm", f"Sex \u2020: {sex}", f"Age: {58 + seed}")
        write_lines(top / f"Case {exam}.txt", (*lines, "Tobacco: 2", f"FEVG: {CANARY}"))
    write_lines(top / "Readme.txt", [CANARY])


def _exam(exam: str, seed: int) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Image and mask, ``(slices, rows, columns)``."""
    heart = short_axis_labels(HEIGHT, WIDTH, seed=seed)
    image = short_axis(heart, seed=seed, count=COUNT, maximum=900)
    mask = np.zeros(image.shape, np.uint8)
    mask[CAVITY_SLICES.start : CAVITY_SLICES.stop] = np.where(heart == 3, 0, heart)
    places = np.argwhere(heart == 2)
    middle = np.argwhere(heart == 1).mean(axis=0)
    angles = np.arctan2(*(places - middle).T)
    if exam.startswith("P"):
        for k in CAVITY_SLICES:
            width = 0.06 if exam == TINY else 1.0 if k == LARGEST else 0.5
            inside = places[np.abs(angles) < width]
            mask[k][tuple(inside.T)] = 3
            image[k][tuple(inside.T)] = 850
        if exam in NO_REFLOW:
            core = places[np.abs(angles) < 0.15]
            mask[LARGEST][tuple(core.T)] = 4
            image[LARGEST][tuple(core.T)] = 150
    return image, mask


def _write(path: Path, layout: str, volume: NDArray[np.int16] | NDArray[np.uint8]) -> None:
    if layout == "folders":
        path = path.with_name(path.name.removesuffix(".gz")) / "volume.nii"
    write_nifti(path, volume, spacing=(SPACING, SPACING, 10.0))
