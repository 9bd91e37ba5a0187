"""Synthetic four-view studies: normal, benign, boxed, boxed twice, half of them MONOCHROME1."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.breast import mammogram
from medrcube.sources._synthetic.images import bounds, lesion, write_dicom, write_lines

Names = tuple[str, ...]

HEADER = (
    "study_id,series_id,image_id,laterality,view_position,height,width,breast_birads,"
    "breast_density,finding_categories,finding_birads,xmin,ymin,xmax,ymax,split"
)
HEIGHT, WIDTH = 176, 140
# For each study: density, and for each side the grade and what is boxed on CC and on MLO.
STUDIES: tuple[tuple[str, dict[str, tuple[int, Names, Names]]], ...] = (
    ("A", {"L": (1, (), ()), "R": (2, (), ())}),
    ("B", {"L": (4, ("Mass",), ("Mass",)), "R": (3, ("Focal Asymmetry",), ())}),
    ("C", {"L": (5, ("Mass', 'Skin Retraction",), ("Nipple Retraction",)), "R": (1, (), ())}),
    ("D", {"L": (4, ("Suspicious Calcification",), ("Asymmetry", "Mass")), "R": (1, (), ())}),
    ("B", {"L": (4, ("Architectural Distortion",), ("Global Asymmetry",)), "R": (1, (), ())}),
    ("C", {"L": (5, ("Suspicious Lymph Node",), ("Skin Thickening",)), "R": (2, (), ())}),
)
UNGRADED = ("Skin Thickening", "Nipple Retraction", "Suspicious Lymph Node")


def build(root: Path, layout: str) -> None:
    """Write 12-bit images with a window and the table of findings."""
    del layout
    rows = [HEADER]
    for study, (density, sides) in enumerate(STUDIES):
        for side, (grade, cc, mlo) in sides.items():
            for view, boxed in (("CC", cc), ("MLO", mlo)):
                seed = len(rows)
                names = [_id("study", study), _id("series", study), _id("image", seed)]
                path = root / "images" / names[0] / f"{names[2]}.dicom"
                _write(path, seed, boxed, side=side, view=view)
                cells = [*names, side, view, str(HEIGHT), str(WIDTH)]
                cells += [f"BI-RADS {grade}", f"DENSITY {density}"]
                split = "test" if study % 2 else "training"
                if not boxed:
                    rows.append(",".join([*cells, "['No Finding']", *[""] * 5, split]))
                for which, name in enumerate(boxed):
                    birads = "" if name in UNGRADED else f"BI-RADS {grade}"
                    text = f"\"['{name}']\"" if "," in name else f"['{name}']"
                    box = map(str, _box(seed, which))
                    rows.append(",".join([*cells, text, birads, *box, split]))
    write_lines(root / "finding_annotations.csv", rows)


def _write(path: Path, seed: int, boxed: Names, *, side: str, view: str) -> None:
    pixels = mammogram(
        HEIGHT,
        WIDTH,
        seed=seed,
        maximum=4095,
        side=side,
        oblique=view == "MLO",
        lesion=_lesions(seed, boxed) if boxed else None,
        specks="Suspicious Calcification" in boxed,
    )
    bright = seed % 2
    write_dicom(
        path,
        pixels if bright else 4095 - pixels,
        ImageLaterality=side,
        ViewPosition=view,
        BitsStored=12,
        HighBit=11,
        PhotometricInterpretation=f"MONOCHROME{1 + bright}",
        RescaleSlope=1,
        RescaleIntercept=0,
        WindowCenter=2048,
        WindowWidth=4096,
    )


def _lesions(seed: int, boxed: Names) -> NDArray[np.bool_]:
    """What the boxes are around: one lesion in each."""
    mask = lesion(HEIGHT, WIDTH, seed=seed)
    if len(boxed) > 1:
        x0, y0, x1, y1 = _box(seed, 1)
        down, across = np.ogrid[:HEIGHT, :WIDTH]
        x = (2 * across + 1 - x0 - x1) / (x1 - x0)
        y = (2 * down + 1 - y0 - y1) / (y1 - y0)
        mask = mask | (x**2 + y**2 <= 1)
    return mask


def _box(seed: int, which: int) -> tuple[float, ...]:
    """Around the lesion; the second one sticks out of the image at the left."""
    if which:
        return (-6.5, 140.25, 24.0, 165.0)
    return tuple(corner + 0.25 for corner in bounds(lesion(HEIGHT, WIDTH, seed=seed)))


def _id(kind: str, number: int) -> str:
    return hashlib.md5(f"{kind} {number}".encode(), usedforsecurity=False).hexdigest()
