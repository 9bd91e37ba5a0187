"""Synthetic heads: one alone in its fan, one beside a body, thin ellipses, repeated names."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.images import write_lines, write_picture
from medrcube.sources._synthetic.ultrasound import fetal_head, fetal_plane

ROWS = (
    # name, mm of a pixel, whether the head lies beside a body
    ("000_HC", 0.21, True),
    ("010_HC", 0.42, True),
    ("010_2HC", 0.43, True),
    ("155_HC", 0.84, True),
    ("392_HC", 0.7, False),
    ("392_2HC", 0.7, False),
    ("426_4HC", 0.75, False),
    ("640_HC", 0.8, False),
    ("701_HC", 0.85, False),
)
TESTS = ("000_HC", "001_HC")
"""Numbering starts again: the name of a training image is that of another woman here."""
SIZE, SMALL = (160, 236), (96, 118)


def build(root: Path, layout: str) -> None:
    """Write images, outlines of one pixel and both tables, with the line ends of the release."""
    del layout
    rows = ["filename,pixel size(mm),head circumference (mm)"]
    for seed, (name, mm, beside) in enumerate(ROWS):
        picture, head = _beside_a_body(seed) if beside else _alone(4 if "392" in name else seed)
        place = root / "training_set"
        write_picture(place / f"{name}.png", picture, density=round(1000 / mm))
        write_picture(place / f"{name}_Annotation.png", _line(head).astype(np.uint8) * 255)
        rows.append(f"{name}.png,{mm:.12f},{_circumference(head) * mm:.2f}")
    write_lines(root / "training_set_pixel_size_and_HC.csv", rows, newline="\r\n")
    tests = ["filename,pixel size(mm)"]
    for seed, name in enumerate(TESTS, start=len(ROWS)):
        picture, _ = _alone(seed)
        write_picture(root / f"test_set/{name}.png", picture, density=round(1000 / 0.3))
        tests.append(f"{name}.png,{0.3:.12f}")
    write_lines(root / "test_set_pixel_size.csv", tests, newline="\r\n")


def _alone(seed: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    return fetal_plane(*SIZE, seed=seed, plane="brain"), fetal_head(*SIZE, seed=seed)


def _beside_a_body(seed: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    picture = fetal_plane(*SIZE, seed=seed, plane="other")
    small = fetal_head(*SMALL, seed=seed)
    head = np.zeros(SIZE, np.bool_)
    place = np.s_[34 : 34 + SMALL[0], 20 + 30 * (seed % 2) : 20 + 30 * (seed % 2) + SMALL[1]]
    head[place] = small
    picture[place][small] = fetal_plane(*SMALL, seed=seed, plane="brain")[small]
    return picture, head


def _line(region: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Pixels of a region of which a neighbour lies outside."""
    inner = region.copy()
    for axis in (0, 1):
        for step in (-1, 1):
            inner &= np.roll(region, step, axis)
    return region & ~inner


def _circumference(region: NDArray[np.bool_]) -> float:
    """Of an ellipse that lies straight, in pixels; S. Ramanujan's first formula."""
    a, b = (float(np.any(region, axis=axis).sum()) / 2 for axis in (0, 1))
    return math.pi * (3 * (a + b) - math.sqrt((3 * a + b) * (a + 3 * b)))
