"""A few synthetic films with relative run-length codes, and the PNG edition of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_film import chest_film, lung_lesion
from medrcube.sources._synthetic.images import write_dicom, write_lines, write_picture

# View and number of drawn regions.
_FILMS = (("PA", 1), ("PA", 0), ("AP", 0), ("AP", 2), ("PA", 1))
_WITHOUT_ROW = 2
"""Number of a film of the first test part, which only the later table names."""
_SIDE = 1024


def build(root: Path, layout: str) -> None:
    """Write the films and the table of one edition, with the blanks of the first one."""
    blank = " " if layout == "stage-1" else ""
    rows = [f"ImageId,{blank}EncodedPixels"]
    for seed, (view, count) in enumerate(_FILMS):
        regions = [_lesion(seed, which) for which in range(count)]
        mask = np.logical_or.reduce([np.zeros((_SIDE, _SIDE), np.bool_), *regions])
        pixels = chest_film(_SIDE, _SIDE, seed=seed, lucency=mask).astype(np.uint8)
        if layout == "png":
            name = f"{seed}_{'test' if seed == _WITHOUT_ROW else 'train'}_{min(count, 1)}_.png"
            write_picture(root / "siim-acr-pneumothorax/png_images" / name, pixels)
            write_picture(root / "siim-acr-pneumothorax/png_masks" / name, 255 * mask)
            continue
        study, series, image = (f"1.2.276.0.7230010.3.1.{part}.8323329.{seed}" for part in "234")
        part = "test" if seed == _WITHOUT_ROW else "train"
        path = root / "siim" / f"dicom-images-{part}" / study / series / f"{image}.dcm"
        write_dicom(path, pixels, Modality="CR", ViewPosition=view, PatientAge="62", PatientSex="M")
        if seed != _WITHOUT_ROW or layout == "stage-2":
            codes = [_code(region) for region in regions] or ["-1"]
            rows += [f"{image},{blank}{code}" for code in codes]
    if layout == "stage-2":
        write_lines(root / "stage_2_train.csv", rows)
        hidden = chest_film(200, 200, seed=91).astype(np.uint8)
        write_dicom(root / "stage_2_images" / "ID_0011fe81e.dcm", hidden)
    elif layout == "stage-1":
        write_lines(root / "siim" / "train-rle.csv", rows)


def _code(mask: NDArray[np.bool_]) -> str:
    """Gaps and lengths down the columns, each gap counted from the end of the run before."""
    flat = np.concatenate([[False], mask.T.ravel(), [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1])
    return " ".join(str(end - start) for start, end in pairwise([0, *edges.tolist()]))


def _lesion(seed: int, which: int) -> NDArray[np.bool_]:
    """A place in the right lung; the second one overlaps the first."""
    return np.roll(lung_lesion(_SIDE, _SIDE, seed=seed), 40 * which, axis=0)
