"""Synthetic ISLES patients: FLAIR on its own grid, masks empty, tiny and of fractions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.head import Sequence, brain_mr, head_volume
from medrcube.sources._synthetic.images import (
    CANARY,
    lesion,
    write_lines,
    write_nifti,
    write_picture,
)

LESIONS = {1: (3, 9), 4: (11, 17), 9: (4, 8), 120: None, 250: (9, 10)}
"""Number of the case -> first marked slice and the one behind the last."""
FRACTIONS = 4
"""Its mask is not exact, as after resampling."""
SHAPE, SPACING = (20, 100, 88), (2.0, 2.0, 5.0)
FLAIR_SHAPE, FLAIR_SPACING = (16, 200, 176), (1.0, 1.0, 6.0)


def build(root: Path, layout: str) -> None:
    """Write five cases; the mask of one is empty, the lesion of the last a few voxels."""
    top = root / "ISLES-2022"
    for number, extent in LESIONS.items():
        patient = f"sub-strokecase{number:04}"
        name = f"{patient}_ses-0001"
        if layout == "zenodo":
            folder = top / patient / "ses-0001"
            files = (f"dwi/{name}_dwi", f"dwi/{name}_adc", f"anat/{name}_FLAIR")
        else:
            folder = top / "rawdata" / patient / "ses-0001"
            files = (f"{name}_dwi", f"{name}_adc", f"{name}_flair")
        dwi, adc, flair = (folder / file for file in files)
        truth = _truth(number, extent)
        _write(dwi, _volume(number, truth, 1400, "dwi").astype(np.float64), SPACING)
        _write(adc, _volume(number, truth, 4000, "adc") / 1000, SPACING)
        tall = np.zeros(FLAIR_SHAPE, np.bool_)
        _write(flair, _volume(number, tall, 600, "flair").astype(np.float32), FLAIR_SPACING)
        if number != 1:  # not every centre gave them
            _sidecar(dwi)
        folder = top / "derivatives" / patient / "ses-0001"
        whole = truth.astype(np.uint16)
        mask = np.where(truth, 0.98, 0.02).astype(np.float32) if number == FRACTIONS else whole
        _write(folder / f"{name}_msk", mask, SPACING)
        if layout != "zenodo":
            write_picture(folder / f"{name}_snp.png", brain_mr(40, 40, seed=number))
    write_lines(top / "participants.tsv", ["participant_id\tsex", f"{CANARY}\tF"])


def _truth(number: int, extent: tuple[int, int] | None) -> NDArray[np.bool_]:
    truth = np.zeros(SHAPE, np.bool_)
    if extent is not None and number != 250:
        truth[slice(*extent)] = lesion(*SHAPE[1:], seed=number)
        truth[extent[0]] &= lesion(*SHAPE[1:], seed=number + 1)
    elif extent is not None:
        truth[extent[0], 50:53, 40:43] = True
    return truth


def _volume(
    seed: int, truth: NDArray[np.bool_], maximum: int, sequence: Sequence
) -> NDArray[np.int16]:
    """Fresh infarcts are bright in DWI, and dark in ADC."""
    return head_volume(
        (truth.shape[0], truth.shape[1], truth.shape[2]),
        seed=seed,
        sequence=sequence,
        maximum=maximum,
        parts=truth.astype(np.uint8),
        greys={1: 0.12 if sequence == "adc" else 0.97},
    )


def _write(path: Path, slices: NDArray[np.generic], spacing: tuple[float, ...]) -> None:
    """Stored to the left, anterior and superior: rows run up."""
    name = path.with_name(f"{path.name}.nii.gz")
    write_nifti(name, slices[:, ::-1], spacing=spacing, signs=(-1, 1, 1))


def _sidecar(path: Path) -> None:
    header = {
        "PatientName": CANARY,
        "PatientSex": "F",
        "PatientAge": "060Y",
        "DiffusionBValue": 800,
    }
    write_lines(path.with_name(f"{path.name}.json"), [json.dumps(header)])
