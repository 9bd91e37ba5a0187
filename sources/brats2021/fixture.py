"""Synthetic BraTS patients: four sequences, one without edema, one without truth, one twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.head import Sequence, head_volume
from medrcube.sources._synthetic.images import chambers, write_nifti

SHAPE = (84, 110, 96)
"""Slices, rows, columns."""
VALUES = np.array([0, 1, 4, 2], np.uint8)
"""Stored value of the background, the core, the ring around it and the edema beside."""
SEQUENCES: Mapping[Sequence, tuple[float, float, float]] = {
    "t1": (0.3, 0.36, 0.4),
    "t1ce": (0.22, 0.95, 0.42),
    "t2": (0.85, 0.66, 0.92),
    "flair": (0.6, 0.78, 0.92),
}
"""Grey of core, ring and edema in each sequence."""
EDGE = 66
"""First slice above the enhancing part."""
DRY = 3
"""Seed of the patient without edema."""


def build(root: Path, layout: str) -> None:
    """Write four patients with truth, one of them a second time, and one of the validation part."""
    del layout
    folder = root / "BraTS2021_Training_Data"
    for seed, number in enumerate((0, 2, 3, 5)):
        _patient(folder / f"BraTS2021_{number:05}", seed)
    _patient(root / "BraTS2021_00495/BraTS2021_00002", 1)
    _patient(folder / "BraTS2021_00001", 9, truth=False)


def _patient(folder: Path, seed: int, *, truth: bool = True) -> None:
    labels = _labels(seed)
    for sequence, greys in SEQUENCES.items():
        slices = head_volume(
            SHAPE,
            seed=seed,
            sequence=sequence,
            maximum=800,
            parts=labels,
            greys=dict(enumerate(greys, start=1)),
            stripped=True,
        )
        _write(folder / f"{folder.name}_{sequence}.nii.gz", slices)
    if truth:
        _write(folder / f"{folder.name}_seg.nii.gz", VALUES[labels])


def _labels(seed: int) -> NDArray[np.uint8]:
    """A tumour in the upper half that is as high as wide, largest two thirds up."""
    count, rows, columns = SHAPE
    labels = np.zeros(SHAPE, np.uint8)
    for k in range(36, EDGE + 6):
        # Tumours lie on either side and at any height, as in patients.
        flat = np.roll(chambers(rows, columns, seed=seed), (0, 6, -6)[seed % 3], axis=0)
        flat = flat[:, ::-1] if seed % 2 else flat
        # Away from the middle the core is all ring, and there is no edema.
        core = (flat == 1) | (flat == 2)
        labels[k] = flat if abs(k - 2 * count // 3) <= 7 else 2 * core
        if k >= EDGE:  # above it there is edema alone
            labels[k] = 3 * core
    return labels if seed != DRY else np.where(labels == 3, np.uint8(0), labels)


def _write(path: Path, slices: NDArray[np.generic]) -> None:
    write_nifti(path, slices, spacing=(1, 1, 1), signs=(-1, -1, 1))
