"""A few grey slices of each class, one of an odd size, in both spellings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_ct import chest_slice, lung_window
from medrcube.sources._synthetic.images import CANARY, write_lines, write_picture

NUMBERS = {"Benign": (1, 2, 10, 120), "Malignant": (1, 9, 11, 561), "Normal": (3, 20, 416)}
ODD = ("Malignant", 11)


def build(root: Path, layout: str) -> None:
    """Write RGB JPEGs without colour, the page of prose, and files that belong to nobody."""
    folder = root / "The IQ-OTHNCCD lung cancer dataset"
    folder = folder / folder.name if layout == "respelled" else folder
    for number, (label, places) in enumerate(NUMBERS.items()):
        word = "Bengin" if layout == "original" and label == "Benign" else label
        for place in places:
            height = 623 if (label, place) == ODD else 512
            units = chest_slice(
                height, 512, seed=1000 * number + place, opacity=label == "Malignant"
            )
            grey = lung_window(units)
            file = folder / f"{word} cases" / f"{word} case ({place}).jpg"
            write_picture(file, np.stack([grey] * 3, axis=-1))
    write_lines(folder / "IQ-OTH_NCCD lung cancer dataset.txt", [CANARY])
    if layout == "original":
        write_picture(folder / "Normal cases" / "Picture16.png", _stray(1))
        write_picture(root / "Test cases" / "000019_01_01_519.jpg", _stray(2))


def _stray(seed: int) -> NDArray[np.uint8]:
    return lung_window(chest_slice(64, 64, seed=seed))
