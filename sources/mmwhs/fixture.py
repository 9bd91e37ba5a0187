"""Synthetic hearts in CT and MR, in different axis orders, one volume that the card drops."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.heart import Contrast, chest_with_heart
from medrcube.sources._synthetic.images import write_nifti

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


_BLOOD = (500, 600, 420, 550, 820, 850)
GREYS: Mapping[Contrast, Mapping[int, float]] = {
    "ct": {**dict.fromkeys(_BLOOD, 380.0), 205: 110.0},
    "mr": {**dict.fromkeys(_BLOOD, 0.85), 205: 0.3},
}
"""Hounsfield units, or grey, of blood with contrast medium and of the wall."""


def build(root: Path, layout: str) -> None:
    """Write three CT and three MR volumes, one unpacked, one with the typing error, and a test."""
    del layout
    for seed, number in enumerate((1001, 1002, 1020)):
        for kind in GREYS:
            folder = root / "MM-WHS 2017 Dataset" / f"{kind}_train"
            suffix = ".nii" if number == 1020 else ".nii.gz"
            stem = f"{kind}_train_{number}"
            place = 2 * seed + (kind == "mr")
            heart = _heart(place, typo=number == 1001 and kind == "mr")
            turned = kind == "mr" and number == 1001
            volume = chest_with_heart(heart, seed=seed, greys=GREYS[kind], contrast=kind)
            _write(folder / f"{stem}_image{suffix}", volume, turned=turned)
            _write(folder / f"{stem}_label{suffix}", heart, turned=turned)
    test = root / "MM-WHS 2017 Dataset/ct_test/ct_test_2001_image.nii.gz"
    _write(
        test,
        chest_with_heart(_heart(9, typo=False), seed=9, greys=GREYS["ct"], contrast="ct"),
        turned=False,
    )


def _heart(seed: int, *, typo: bool) -> NDArray[np.uint16]:
    """Balls for the parts; another place and size for each seed."""
    rng = np.random.default_rng((seed, 8))
    down, aside = (int(step) for step in rng.integers(-5, 6, 2))
    size = 0.86 + 0.2 * rng.random()
    labels = np.zeros(SHAPE, np.uint16)
    places = np.indices(SHAPE)
    for value in (205, 500, 600, 420, 550, 820, 850):
        k, row, column, radius = PARTS[value]
        distance = np.sqrt(
            (places[0] - k) ** 2 + (places[1] - row - down) ** 2 + (places[2] - column - aside) ** 2
        )
        labels[(distance < radius * size) & np.isin(labels, (0, 205))] = value
    if typo:
        labels[24, 66 + down, 70 + aside : 74 + aside] = 421
    return labels


def _write(path: Path, slices: NDArray[np.generic], *, turned: bool) -> None:
    """Write with columns to the left and rows to the back, or with both the other way round."""
    voxels, signs = (slices[:, ::-1, ::-1], (1, 1, 1)) if turned else (slices, (-1, -1, 1))
    write_nifti(path, voxels, spacing=(1.1, 1.1, 1.6), signs=signs)
