"""A synthetic ACDC: every group, an older test copy without truth, and the disputed patient."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.heart import short_axis, short_axis_labels
from medrcube.sources._synthetic.images import CANARY, write_lines, write_nifti

PATIENTS = (
    ("training/patient001", "DCM", 1, 12),
    ("training/patient021", "HCM", 1, 9),
    ("training/patient041", "MINF", 1, 11),
    ("training/patient061", "NOR", 1, 12),
    ("training/patient090", "RV", 11, 4),
    ("training/patient091", "RV", 1, 9),
    ("testing/patient101", "DCM", 1, 14),
)
VALUES = np.array([0, 3, 2, 1], np.uint8)
"""Stored value of the background, the left cavity, its wall and the right cavity."""
SCALES = (1.0, 0.7)
"""Size of the heart at end-diastole and at end-systole."""
EXTENTS = ((2, 5), (1, 6), (0, 4))
"""First slice of each structure and the one behind its last: only 2 and 3 show all three."""


def build(root: Path, layout: str) -> None:
    """Write seven labelled patients; ``database`` adds one of the older test copies."""
    for seed, (name, group, ed, es) in enumerate(PATIENTS):
        folder = root / "database" / name
        _images(folder, layout, (ed, es), seed)
        _truth(folder, layout, (ed, es), seed)
        _info(folder, ed, es, group)
    if layout == "database":
        folder = root / "database/testing/testing/patient102"
        _images(folder, layout, (1, 11), len(PATIENTS))
        _info(folder, 1, 11)
    write_lines(root / "database/MANDATORY_CITATION.md", [CANARY])


def _info(folder: Path, ed: int, es: int, group: str = "") -> None:
    stated = [f"Group: {group}"] if group else []
    size = ["Height: 184.0", "NbFrame: 30", "Weight: 95.0"]
    write_lines(folder / "Info.cfg", [f"ED: {ed}", f"ES: {es}", *stated, *size])


def _images(folder: Path, layout: str, frames: tuple[int, int], seed: int) -> None:
    for number, frame in enumerate(frames):
        heart = short_axis_labels(96, 120, seed=seed, scale=SCALES[number])
        volume = short_axis(heart, seed=seed, count=6, maximum=900)
        _write(folder, layout, f"{folder.name}_frame{frame:02}.nii.gz", volume)
    _write(folder, layout, f"{folder.name}_4d.nii.gz", np.stack([volume] * 2))


def _truth(folder: Path, layout: str, frames: tuple[int, int], seed: int) -> None:
    for number, frame in enumerate(frames):
        heart = short_axis_labels(96, 120, seed=seed, scale=SCALES[number])
        volume = np.zeros((6, 96, 120), np.uint8)
        for part, (first, end) in enumerate(EXTENTS, start=1):
            volume[first:end, heart == part] = VALUES[part]
        _write(folder, layout, f"{folder.name}_frame{frame:02}_gt.nii.gz", volume)


def _write(folder: Path, layout: str, name: str, volume: np.ndarray) -> None:
    inner = name.removesuffix(".gz")
    path = folder / inner / inner if layout == "kaggle" else folder / name
    write_nifti(path, volume, spacing=(1.5625, 1.5625, 10.0), signs=(-1, -1, 1))
