"""A synthetic CAMUS in both editions: every band of the EF, every quality, a case of TED."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.images import (
    CANARY,
    chambers,
    picture,
    write_lines,
    write_metaimage,
    write_nifti,
)

EJECTIONS = (62, 47, 35, 22, 54)
QUALITIES = ("Good", "Medium", "Good", "Medium", "Poor")
SHAPE = (110, 84)
SCALES = {"ED": 1.0, "ES": 0.7}
"""Size of the heart in each phase."""


def build(root: Path, layout: str) -> None:
    """Write five patients in two views; ``mhd`` adds a test patient of a name already used."""
    for number, (ejection, quality) in enumerate(zip(EJECTIONS, QUALITIES, strict=True), start=1):
        name = f"patient{number:04}"
        for view in ("2CH", "4CH"):
            seed = 10 * number + int(view[0])
            if layout == "nifti":
                folder = root / "CAMUS_public/database_nifti" / name
                # The half cycle may run from end-systole to end-diastole.
                ends = ["ED: 1", "ES: 18"] if number != 2 else ["ED: 21", "ES: 1"]
                age = "56" if number != 3 else "nan"
                lines = ["NbFrame: 21", "Sex: F", f"Age: {age}", f"ImageQuality: {quality}"]
                rest = [f"EF: {ejection}", "FrameRate: 48.4"]
                write_lines(folder / f"Info_{view}.cfg", [*ends, *lines, *rest])
                _nifti(folder, view, seed)
            else:
                folder = root / "training" / name
                lines = ["NbFrame: 18", "Sex: M", "Age: 61", f"ImageQuality: {quality}"]
                end = 94.7 * (1 - ejection / 100)
                volumes = ["LVedv: 94.7", f"LVesv: {end:.1f}", f"LVef: {ejection + 0.1:.1f}"]
                ends = ["ED: 1", "ES: 18"]
                write_lines(folder / f"Info_{view}.cfg", [*ends, *lines, *volumes])
                _metaimage(folder, view, seed, truth=True)
    if layout == "nifti":
        _subgroups(root / "CAMUS_public/database_split")
    else:
        _strangers(root)


def _subgroups(folder: Path) -> None:
    write_lines(folder / "subgroup_training.txt", ["patient0001", "patient0002", "patient0003"])
    write_lines(folder / "subgroup_validation.txt", ["patient0004"])
    write_lines(folder / "subgroup_testing.txt", ["patient0005"])


def _strangers(root: Path) -> None:
    """A test patient without contours, and one of TED."""
    folder = root / "testing/patient0001"
    for view in ("2CH", "4CH"):
        lines = ["ED: 1", "ES: 17", "NbFrame: 17", "Sex: F", "Age: 70", "ImageQuality: Good"]
        write_lines(folder / f"Info_{view}.cfg", lines)
        _metaimage(folder, view, 90 + int(view[0]), truth=False)
    ted = root / "training/patient001"
    write_lines(ted / "patient001_4CH_info.cfg", ["ED: 1", "ES: 18", f"Name: {CANARY}"])
    frames = np.stack([_grey(99), _grey(98)])
    write_metaimage(ted / "patient001_4CH_sequence.mhd", frames, spacing=(0.31, 0.15, 1))


def _nifti(folder: Path, view: str, seed: int) -> None:
    stem = folder / f"{folder.name}_{view}"
    for offset, (phase, scale) in enumerate(SCALES.items()):
        grey = _grey(seed + offset, scale)
        truth = chambers(*SHAPE, seed=seed + offset, scale=scale)
        write_nifti(Path(f"{stem}_{phase}.nii.gz"), grey, spacing=(0.3, 0.3))
        # Labels of this edition may be stored as floats.
        write_nifti(Path(f"{stem}_{phase}_gt.nii.gz"), truth.astype(np.float32), spacing=(0.3, 0.3))
    sequence = np.stack([_grey(seed), _grey(seed + 1)])
    for end in ("half_sequence", "half_sequence_gt"):
        write_nifti(Path(f"{stem}_{end}.nii.gz"), sequence, spacing=(0.3, 0.3, 1))


def _metaimage(folder: Path, view: str, seed: int, *, truth: bool) -> None:
    stem = folder / f"{folder.name}_{view}"
    spacing = (0.308, 0.154, 1)
    for offset, (phase, scale) in enumerate(SCALES.items()):
        grey = _grey(seed + offset, scale)[None]
        write_metaimage(Path(f"{stem}_{phase}.mhd"), grey, spacing=spacing)
        if truth:
            marked = chambers(*SHAPE, seed=seed + offset, scale=scale)[None]
            write_metaimage(Path(f"{stem}_{phase}_gt.mhd"), marked, spacing=spacing)
    sequence = np.stack([_grey(seed), _grey(seed + 1)])
    write_metaimage(Path(f"{stem}_sequence.mhd"), sequence, spacing=spacing)


def _grey(seed: int, scale: float = 1.0) -> NDArray[np.uint8]:
    parts = chambers(*SHAPE, seed=seed, scale=scale)
    return picture(*SHAPE, seed=seed, parts=parts).astype(np.uint8)
