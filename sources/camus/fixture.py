"""A synthetic CAMUS in both editions: every band of the EF, every quality, a case of TED."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.echo import apical_labels, apical_view, ventricle
from medrcube.sources._synthetic.images import CANARY, write_lines, write_metaimage, write_nifti
from medrcube.sources._synthetic.shapes import Ellipse

EJECTIONS = (62, 47, 35, 22, 54)
QUALITIES = ("Good", "Medium", "Good", "Medium", "Poor")
SHAPE = (110, 84)
PHASES = ("ED", "ES")


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
                _nifti(folder, view, seed, ejection)
            else:
                folder = root / "training" / name
                lines = ["NbFrame: 18", "Sex: M", "Age: 61", f"ImageQuality: {quality}"]
                end = 94.7 * (1 - ejection / 100)
                volumes = ["LVedv: 94.7", f"LVesv: {end:.1f}", f"LVef: {ejection + 0.1:.1f}"]
                ends = ["ED: 1", "ES: 18"]
                write_lines(folder / f"Info_{view}.cfg", [*ends, *lines, *volumes])
                _metaimage(folder, view, seed, ejection)
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
        _metaimage(folder, view, 90 + int(view[0]))
    ted = root / "training/patient001"
    write_lines(ted / "patient001_4CH_info.cfg", ["ED: 1", "ES: 18", f"Name: {CANARY}"])
    frames = np.stack([_grey(94, "ED"), _grey(94, "ES")])
    write_metaimage(ted / "patient001_4CH_sequence.mhd", frames, spacing=(0.31, 0.15, 1))


def _nifti(folder: Path, view: str, seed: int, ejection: int) -> None:
    stem = folder / f"{folder.name}_{view}"
    for phase in PHASES:
        grey, truth = _grey(seed, phase, ejection), _truth(seed, phase, ejection)
        write_nifti(Path(f"{stem}_{phase}.nii.gz"), grey, spacing=(0.3, 0.3))
        # Labels of this edition may be stored as floats.
        write_nifti(Path(f"{stem}_{phase}_gt.nii.gz"), truth.astype(np.float32), spacing=(0.3, 0.3))
    sequence = np.stack([_grey(seed, phase, ejection) for phase in PHASES])
    for end in ("half_sequence", "half_sequence_gt"):
        write_nifti(Path(f"{stem}_{end}.nii.gz"), sequence, spacing=(0.3, 0.3, 1))


def _metaimage(folder: Path, view: str, seed: int, ejection: int | None = None) -> None:
    """Write both phases, with their labels where the fraction is told."""
    stem = folder / f"{folder.name}_{view}"
    spacing = (0.308, 0.154, 1)
    frames = [_grey(seed, phase, ejection or 60) for phase in PHASES]
    for phase, grey in zip(PHASES, frames, strict=True):
        write_metaimage(Path(f"{stem}_{phase}.mhd"), grey[None], spacing=spacing)
        if ejection is not None:
            truth = _truth(seed, phase, ejection)
            write_metaimage(Path(f"{stem}_{phase}_gt.mhd"), truth[None], spacing=spacing)
    write_metaimage(Path(f"{stem}_sequence.mhd"), np.stack(frames), spacing=spacing)


def _grey(seed: int, phase: str, ejection: int = 60) -> NDArray[np.uint8]:
    cavity = _cavity(seed, phase, ejection)
    noise = PHASES.index(phase)
    return apical_view(*SHAPE, seed=seed, cavity=cavity, noise=noise, right=seed % 10 == 4)


def _truth(seed: int, phase: str, ejection: int) -> NDArray[np.uint8]:
    return apical_labels(*SHAPE, seed=seed, cavity=_cavity(seed, phase, ejection))


def _cavity(seed: int, phase: str, ejection: int) -> Ellipse:
    """The left ventricle, which loses its ejection fraction of volume until end-systole."""
    scale = 1.0 if phase == "ED" else (1 - ejection / 100) ** (1 / 3)
    return ventricle(seed=seed, scale=scale)
