"""Synthetic crops around a hippocampus, on all scales of greys, in the three forms of copies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.images import CANARY, write_lines, write_nifti
from medrcube.sources._synthetic.shapes import cloud

NUMBERS = {"original": (1, 3, 4), "nnunet": (6, 7), "course": (56, 125, 118)}
FOLDERS = {
    "original": "Task04_Hippocampus",
    "nnunet": "Dataset004_Hippocampus",
    "course": "TrainingSet",
}
UNPAIRED = {"118": "image alone", "010": "label alone"}
_SHAPE = (34, 50, 36)
"""Slices from foot to head, rows from back to front, columns from left to right."""

_AIR = 5
"""Voxels without tissue at every side, in which the mark of the orientation stands."""


def build(root: Path, layout: str) -> None:
    """Write volumes with their labels, a test volume, and what a course planted among them."""
    folder = root / FOLDERS[layout]
    course = layout == "course"
    images, labels = ("images", "labels") if course else ("imagesTr", "labelsTr")
    channel = "_0000" if layout == "nnunet" else ""
    for place, number in enumerate(NUMBERS[layout]):
        truth = _truth(number)
        top = (200, 2000, 1_700_000)[place]
        volume = _volume(truth, number) * top
        kind = np.uint8 if top == 200 else np.float32
        name = f"hippocampus_{number:03}"
        _write(folder / images / f"{name}{channel}.nii.gz", volume.astype(kind))
        if f"{number:03}" not in UNPAIRED:
            _write(folder / labels / f"{name}.nii.gz", truth.astype(np.float32 if place else "u1"))
    if course:
        _write(folder / labels / "hippocampus_010.nii.gz", _truth(10))
        return
    _write(folder / f"imagesTs/hippocampus_002{channel}.nii.gz", _volume(_truth(2), 2))
    (folder / images / f"._hippocampus_{NUMBERS[layout][0]:03}{channel}.nii.gz").write_bytes(
        CANARY.encode()
    )
    classes: dict[str, str] | dict[str, int] = {"0": "background", "1": "Anterior"}
    classes["2"] = "Posterior"  # type: ignore[assignment]
    if layout == "nnunet":
        classes = {"background": 0, "Anterior": 1, "Posterior": 2}
    text = {"name": "Hippocampus", "description": CANARY, "labels": classes}
    write_lines(folder / "dataset.json", [json.dumps(text)])


def _truth(number: int) -> NDArray[np.uint8]:
    """A thick head in front (1) and a body that thins and rises behind it (2)."""
    rng = np.random.default_rng((number, 71))
    z, y, x = np.mgrid[: _SHAPE[0], : _SHAPE[1], : _SHAPE[2]].astype(float)
    front = (y - 5) / 40  # 0 at the back, 1 in front
    height = 13 + rng.random() + 9 * (1 - front) ** 2
    radius = np.where((front > 0) & (front < 1), 4.6 + 3.2 * front - 9 * (front - 0.9).clip(0), 0)
    inside = np.hypot(z - height, (x - 17 - rng.random()) / 1.1) < radius
    return np.where(inside, np.where(y > 29, 1, 2), 0).astype(np.uint8)


def _volume(truth: NDArray[np.uint8], number: int) -> NDArray[np.float64]:
    rng = np.random.default_rng((number, 72))
    tissue = np.stack([0.72 + 0.08 * cloud(rng, _SHAPE[1:], 6) for _ in range(_SHAPE[0])])
    grey = np.where(truth > 0, 0.5, tissue) + rng.normal(0, 0.015, _SHAPE)
    air = np.ones(_SHAPE, np.bool_)
    air[_AIR:-_AIR, _AIR:-_AIR, _AIR:-_AIR] = False
    grey[air] = 0.01
    grey[1:4, 1:4, 3:20] = 0.97
    return np.asarray(np.clip(grey, 0.01, 1))


def _write(path: Path, volume: NDArray[np.generic]) -> None:
    write_nifti(path, volume, spacing=(1.0, 1.0, 1.0))
