"""Figures of both classes with literal percent signs, missing suffixes and converted copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.chest_ct import chest_slice, lung_window
from medrcube.sources._synthetic.images import CANARY, write_lines, write_picture
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet

COVID = (
    ("2020.01.24.919183-p27-132.png", "Patient 1", "40+", "M "),
    ("2020.02.10.20021584-p6-52%0.png", "Patient 2", "66", "F"),
    ("PIIS0140673620301549_2.png", "Patient 2", "66", "F"),
    ("kjr-21-e24-p1-13.png", "Patient 3", None, None),
)
OTHERS = (
    ("0.jpg", "crawled_patient_0"),
    ("1%0.jpg", "crawled_patient_1"),
    ("2.png", "medpix_patient_1"),
    ("10.png", "medpix_patient_2"),
)
_PANELS = 3
"""Number of the figure with two slices beside each other."""
SPLITS = ("train", "val", "test")


def build(root: Path, layout: str) -> None:
    """Write images of many sizes and modes; one is too wide to be a single panel."""
    folder = root / "Images-processed" if layout == "repository" else root
    other = "CT_NonCOVID" if layout == "repository" else "CT_nonCOVID"
    for seed, (name, *_) in enumerate(COVID):
        _figure(folder / "CT_COVID" / name, seed)
    for seed, (name, _) in enumerate(OTHERS, len(COVID)):
        _figure(folder / other / name, seed)
    if layout == "kaggle":
        _figure(folder / other / "0.png", len(COVID))
    heads = ["File name", "Patient ID", "Age", "Gender", "Location", "Severity", "Captions"]
    rows = [
        [name.removesuffix(".png") if k % 2 else name, patient, age, sex, CANARY, None, CANARY]
        for k, (name, patient, age, sex) in enumerate(COVID)
    ]
    write_spreadsheet(root / "COVID-CT-MetaInfo.xlsx", {"Sheet1": [heads, *rows]})
    if layout == "repository":
        _tables(root)


def _tables(root: Path) -> None:
    lines = [",image name,patient id,", *(f"{k},{a},{b},1" for k, (a, b) in enumerate(OTHERS))]
    write_lines(root / "NonCOVID-CT-MetaInfo.csv", lines, newline="\r\n")
    for kind, names in (("COVID", [row[0] for row in COVID]), ("NonCOVID", [*dict(OTHERS)])):
        for k, split in enumerate(SPLITS):
            listed = [name for place, name in enumerate(names) if place % 3 == k]
            write_lines(root / "Data-split" / kind / f"{split}CT_{kind}.txt", listed)


def _figure(path: Path, seed: int) -> None:
    hazy = path.parent.name == "CT_COVID"
    panels, width = (2, 320) if seed == _PANELS else (1, 260 + 7 * seed)
    slices = [
        chest_slice(220, width, seed=seed + 100 * panel, opacity=hazy) for panel in range(panels)
    ]
    grey = lung_window(np.hstack(slices))
    alpha = np.full_like(grey, 255)
    if path.suffix == ".jpg":
        write_picture(path, grey)
    elif seed % 2:
        write_picture(path, np.stack([grey, grey, grey, alpha], axis=-1))
    else:
        write_picture(path, np.stack([grey] * 3, axis=-1))
