"""Synthetic convex-probe ultrasound: fetal planes, and lungs with signs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.echo import speckle
from medrcube.sources._synthetic.shapes import (
    Floats,
    cloud,
    line_distance,
    marker,
    places,
    radius,
    soft,
)

__all__ = ["Plane", "Sign", "fetal_head", "fetal_plane", "lung_ultrasound"]

Plane = Literal["brain", "cerebellum", "ventricle", "thorax", "abdomen", "femur", "cervix", "other"]
Sign = Literal["a-lines", "b-lines", "consolidation", "effusion", "irregular"]

_HEAD_ROW = 0.52
_HEAD = (0.26, 0.32)
"""Vertical and horizontal half axis of a head, as shares of image height and width."""


def fetal_plane(height: int, width: int, *, seed: int, plane: Plane) -> NDArray[np.uint8]:
    """Return an 8-bit image of one plane of a fetus in fluid, or of the maternal cervix."""
    y, x = places(height, width)
    rng, echo, turn, column = _fluid(height, width, seed)
    if plane in {"brain", "cerebellum", "ventricle"}:
        echo = _fetal_head(echo, (y, x), column, turn, plane)
    elif plane in {"thorax", "abdomen"}:
        echo = _fetal_trunk(echo, (y, x), column, thorax=plane == "thorax")
    elif plane == "femur":
        echo += soft(radius(y, x, (0.55, column, 0.17, 0.36), tilt=turn), 0.1) * 0.12
        bone = line_distance(y, x, [(0.55 + turn, column - 0.22), (0.53 - turn, column + 0.22)])
        echo += soft(bone / 0.022, 0.5) * (0.95 - echo)
        echo *= 1 - 0.6 * ((y > 0.57) & (np.abs(x - column) < 0.2))
    elif plane == "cervix":
        echo += soft(radius(y, x, (0.3, 0.35, 0.13, 0.26)), 0.1) * (0.05 - echo)  # bladder
        canal = line_distance(y, x, [(0.45, 0.2), (0.55, 0.5), (0.6, 0.72)])
        echo += soft(canal / 0.1, 0.3) * (0.5 - echo)
        echo += soft(canal / 0.012, 0.6) * (0.1 - echo)
    else:
        echo += soft(radius(y, x, (0.5, column, 0.16, 0.25), tilt=1.0), 0.1) * (0.05 - echo)
        echo += soft(radius(y, x, (0.68, 0.35, 0.1, 0.14)), 0.15) * (0.6 - echo)
    return _finished(echo, rng)


def fetal_head(height: int, width: int, *, seed: int) -> NDArray[np.bool_]:
    """Return the head mask in ``fetal_plane``: an ellipse along the outer border of the skull."""
    y, x = places(height, width)
    _, _, _, column = _fluid(height, width, seed)
    return np.asarray(radius(y, x, (_HEAD_ROW, column, *_HEAD)) < 1)


def lung_ultrasound(
    height: int, width: int, *, seed: int, signs: Collection[Sign] = ()
) -> NDArray[np.uint8]:
    """Return an 8-bit image of chest wall, ribs with shadows, pleura, and signs below it."""
    rng = np.random.default_rng((seed, 62))
    y, x = places(height, width)
    shape = (height, width)
    level = 0.3 + 0.03 * rng.random()
    rough = 0.05 * (0.2 + ("irregular" in signs))
    pleura = level + 0.12 * (x - 0.5) ** 2 + rough * cloud(rng, shape, 7) * 0.5
    wall = 0.36 + 0.12 * np.sin(2 * np.pi * y / 0.07) + 0.06 * cloud(rng, shape, 9)
    haze = 0.42 * np.exp(-3 * np.clip(y - pleura, 0, None)) * (0.6 + 0.15 * cloud(rng, shape, 10))
    echo = np.where(y < pleura, wall, haze)
    if "a-lines" in signs:
        for number in (2, 3):
            line = np.abs(y - number * pleura) / 0.012
            echo = echo + 0.5 / number * 1.6 * soft(line, 0.9) * (np.abs(x - 0.5) < 0.28)
    if "b-lines" in signs:
        for start in (0.3, 0.46, 0.62, 0.7):
            beam = start + 0.06 * (rng.random() - 0.5)
            slant = beam + (beam - 0.5) * 0.9 * (y - level)
            ray = soft(np.abs(x - slant) / 0.025, 0.8) * (y > pleura)
            echo = np.maximum(echo, 0.75 * ray)
    if "consolidation" in signs:
        place = radius(y, x, (level + 0.2, 0.42 + 0.1 * rng.random(), 0.16, 0.17))
        edge = place + 0.12 * cloud(rng, shape, 8)
        echo = echo + soft(edge, 0.15) * (0.3 + 0.1 * cloud(rng, shape, 15) - echo)
        bubbles = np.clip(2 * (cloud(rng, shape, 18) - 1.0), 0, 1)
        echo = echo + 0.5 * bubbles * soft(edge, 0.15)
    if "effusion" in signs:
        fluid = radius(y, x, (level + 0.24, 0.58, 0.19, 0.27))
        echo = echo + soft(fluid, 0.1) * (y > pleura) * (0.03 - echo)
        echo = echo + 0.6 * soft(np.abs(fluid - 1.03) / 0.05, 0.7) * (y > level + 0.25)
    echo = np.maximum(echo, 0.92 * soft(np.abs(y - pleura) / 0.016, 0.6))
    for at in (0.24, 0.78):  # ribs
        rib = radius(y, x, (level - 0.06, at, 0.02, 0.055))
        behind = (y > level - 0.06) & (np.abs(x - at - (at - 0.5) * (y - level)) < 0.05)
        echo = np.where(behind, 0.12 * echo, echo)
        echo = np.maximum(echo, 0.9 * soft(rib, 0.4) * (y < level - 0.05))
    return _finished(echo, rng)


def _fluid(height: int, width: int, seed: int) -> tuple[np.random.Generator, Floats, float, float]:
    """Return generator, fluid image, and rotation and column of the fetus."""
    rng = np.random.default_rng((seed, 61))
    echo = 0.3 + 0.08 * cloud(rng, (height, width), 8)
    turn = 0.15 * (rng.random() - 0.5)
    return rng, echo, turn, 0.5 + 0.06 * (rng.random() - 0.5)


def _finished(echo: Floats, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Add speckle and crop to the sector of a convex probe."""
    height, width = echo.shape
    y, x = places(height, width)
    down, aside = y + 0.45, (x - 0.5) * width / height
    depth, angle = np.hypot(down, aside), np.arctan2(aside, down)
    inside = (depth > 0.52) & (depth < 1.43) & (np.abs(angle) < 0.42 * max(width / height, 0.8))
    grain = speckle(rng, (height, width))
    grey = np.clip(echo, 0, None) * (0.74 + 0.26 * grain) * (1.35 - 0.4 * depth) * 255
    grey = np.where(inside, grey, 0)
    grey[marker(height, width)] = 250
    return np.clip(grey, 0, 255).astype(np.uint8)


def _fetal_head(
    echo: Floats, yx: tuple[Floats, Floats], column: float, turn: float, plane: Plane
) -> Floats:
    y, x = yx
    row = _HEAD_ROW
    across = y - row - turn * (x - column)
    head = radius(y, x, (row, column, *_HEAD))
    echo = echo + soft(head, 0.1) * (0.22 - 0.4 * (echo - 0.3) - echo)
    ring = soft(np.abs(head - 0.97) / 0.045, 0.6)
    midline = soft(np.abs(across) / 0.008, 0.8) * (head < 0.9) * (np.abs(x - column - 0.05) > 0.07)
    bright = np.maximum(ring, 0.75 * midline)
    dark = [radius(y, x, (row, column + 0.08, 0.012, 0.05))]
    if plane == "brain":
        thalami = [(row + 0.055 * side, column - 0.02, 0.045, 0.07) for side in (-1, 1)]
        dark += [radius(y, x, thalamus) for thalamus in thalami]
    elif plane == "cerebellum":
        for side in (-1, 1):
            lobe = radius(y, x, (row + 0.065 * side, column - 0.19, 0.06, 0.05))
            bright = np.maximum(bright, 0.5 * soft(np.abs(lobe - 0.9) / 0.12, 0.6))
    else:
        horn = radius(y, x, (row + 0.1, column - 0.1, 0.035, 0.13), tilt=0.4)
        dark.append(horn)
        plexus = radius(y, x, (row + 0.1, column - 0.05, 0.024, 0.06))
        bright = np.maximum(bright, 0.8 * soft(plexus, 0.3))
    echo = echo + soft(np.min(dark, axis=0), 0.25) * (0.07 - echo)
    return np.maximum(echo, 0.95 * bright)


def _fetal_trunk(echo: Floats, yx: tuple[Floats, Floats], column: float, *, thorax: bool) -> Floats:
    y, x = yx
    row = 0.53
    trunk = radius(y, x, (row, column, 0.27, 0.28))
    echo = echo + soft(np.abs(trunk - 1.15) / 0.15, 0.2) * (0.05 - echo)  # fluid around it
    echo = echo + soft(trunk, 0.06) * (0.4 - echo)
    angle = np.arctan2(y - row, x - column)
    bright = 0.7 * soft(np.abs(trunk - 0.96) / 0.04, 0.6)
    for side in (-0.03, 0.0, 0.03):
        spine = radius(y, x, (row - 0.2, column + side, 0.014, 0.012))
        bright = np.maximum(bright, soft(spine, 0.4))
    if thorax:
        ribs = soft(np.abs(trunk - 0.85) / 0.05, 0.6) * np.clip(2 * np.cos(9 * angle), 0, 1)
        bright = np.maximum(bright, 0.9 * ribs)
        spots = [
            (row + 0.02 + dy, column - 0.05 + dx, 0.045, 0.04)
            for dy, dx in ((0.0, 0.0), (0.1, 0.01), (0.0, 0.095), (0.1, 0.1))
        ]
    else:
        spots = [(row + 0.02, column - 0.13, 0.055, 0.05), (row + 0.03, column + 0.03, 0.02, 0.05)]
    dark = np.min([radius(y, x, spot) for spot in spots], axis=0)
    echo = echo + soft(dark, 0.2) * (0.05 - echo)
    return np.maximum(echo, bright)
