"""Synthetic hearts in CT and MR, in different axis orders, one volume that the card drops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.images import picture, write_nifti

SHAPE = (40, 100, 110)
"""Slices from below, rows from the front, columns from the right."""
PARTS = {
    500: (16, 44, 72, 10),
    205: (16, 44, 72, 14),
    600: (16, 36, 45, 9),
    420: (24, 66, 70, 8),
    550: (22, 62, 38, 9),
    820: (34, 44, 52, 6),
    850: (34, 34, 68, 6),
}
"""Stored value -> slice, row, column and radius."""


def build(root: Path, layout: str) -> None:
    """Write three CT and three MR volumes, one unpacked, one with the typing error, and a test."""
    del layout
    for seed, number in enumerate((1001, 1002, 1020)):
        for kind in ("ct", "mr"):
            folder = root / "MM-WHS 2017 Dataset" / f"{kind}_train"
            suffix = ".nii" if number == 1020 else ".nii.gz"
            stem = f"{kind}_train_{number}"
            heart = _heart(typo=number == 1001 and kind == "mr")
            turned = kind == "mr" and number == 1001
            volume = _volume(seed, heart, kind)
            _write(folder / f"{stem}_image{suffix}", volume, turned=turned)
            _write(folder / f"{stem}_label{suffix}", heart, turned=turned)
    test = root / "MM-WHS 2017 Dataset/ct_test/ct_test_2001_image.nii.gz"
    _write(test, _volume(9, _heart(typo=False), "ct"), turned=False)


def _heart(*, typo: bool) -> NDArray[np.uint16]:
    labels = np.zeros(SHAPE, np.uint16)
    places = np.indices(SHAPE)
    for value in (205, 500, 600, 420, 550, 820, 850):
        k, row, column, radius = PARTS[value]
        distance = np.sqrt(
            (places[0] - k) ** 2 + (places[1] - row) ** 2 + (places[2] - column) ** 2
        )
        labels[(distance < radius) & np.isin(labels, (0, 205))] = value
    if typo:
        labels[24, 66, 70:74] = 421
    return labels


def _volume(seed: int, heart: NDArray[np.uint16], kind: str) -> NDArray[np.int16]:
    parts = np.where(heart == 205, 3, (heart > 0) * 1)
    slices = [
        picture(*SHAPE[1:], seed=seed + k, maximum=1500, parts=parts[k]) for k in range(SHAPE[0])
    ]
    volume = np.stack(slices).astype(np.int16)
    return volume - 1000 if kind == "ct" else volume


def _write(path: Path, slices: NDArray[np.generic], *, turned: bool) -> None:
    """Write with columns to the left and rows to the back, or with both the other way round."""
    stored, signs = (slices[:, ::-1, ::-1], (1, 1, 1)) if turned else (slices, (-1, -1, 1))
    write_nifti(path, stored, spacing=(1.1, 1.1, 1.6), signs=signs)
