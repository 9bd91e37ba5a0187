"""Synthetic apical echocardiography: a sector with speckle, probe and apex at the top."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.shapes import (
    Ellipse,
    Floats,
    cloud,
    marker,
    places,
    radius,
    soft,
)

__all__ = ["apical_labels", "apical_view", "sector", "speckle", "ventricle"]

_WALL = 0.03
"""Wall thickness, as a share of the image width."""
_VALVE = 0.555
"""Row of the mitral valve of a heart of ``ventricle``."""
_HALF_ANGLE = 0.68
"""Half opening angle of the sector in radians."""


def ventricle(*, seed: int, scale: float = 1.0) -> Ellipse:
    """Return the left ventricular cavity of a patient; ``scale`` below 1 for contraction."""
    rng = np.random.default_rng((seed, 41))
    tall, wide = 0.115 + 0.025 * rng.random(), 0.075 + 0.02 * rng.random()
    return (0.39, 0.55 + 0.02 * rng.random(), tall * scale, wide * scale)


def apical_labels(height: int, width: int, *, seed: int, cavity: Ellipse) -> NDArray[np.uint8]:
    """Return a label image: 1 left ventricle, 2 its wall, 3 left atrium below it.

    Args:
        height: rows.
        width: columns.
        seed: decides the atrium.
        cavity: place of the left ventricle, as of ``ventricle``.
    """
    y, x = places(height, width)
    row, column, tall, wide = cavity
    labels = np.zeros((height, width), np.uint8)
    labels[radius(y, x, _atrium(seed, cavity, _VALVE)) < 1] = 3
    labels[radius(y, x, (row, column, tall + _WALL, wide + _WALL)) < 1] = 2
    labels[radius(y, x, cavity) < 1] = 1
    return labels


def apical_view(
    height: int,
    width: int,
    *,
    seed: int,
    cavity: Ellipse,
    valve: float = _VALVE,
    noise: int = 0,
    right: bool = True,
) -> NDArray[np.uint8]:
    """Return an 8-bit frame ``(height, width)``.

    Args:
        height: rows.
        width: columns.
        seed: decides the patient.
        cavity: place of the left ventricle.
        valve: row of the mitral valve, as a share of the height; its distance scales the heart.
        noise: seed of the speckle, such as the frame number.
        right: whether to draw the right heart, as in a four-chamber view.
    """
    rng = np.random.default_rng((seed, 42))
    y, x = places(height, width)
    row, column, tall, wide = cavity
    shape = (height, width)
    echo = 0.26 + 0.06 * cloud(rng, shape, 9)
    unit = valve - row
    sac = (row + 0.5 * unit, column - 0.4 * unit * right, 1.9 * unit, (0.85 + 0.55 * right) * unit)
    around = radius(y, x, sac)
    echo = echo + 0.3 * soft(np.abs(around - 1) / 0.05, 0.8)  # pericardium
    wall = radius(y, x, (row, column, tall + _WALL, wide + _WALL))
    echo += soft(wall, 0.15) * (0.52 + 0.08 * cloud(rng, shape, 18) - echo)
    dark = [radius(y, x, cavity), radius(y, x, _atrium(seed, cavity, valve))]
    if right:
        dark += [
            radius(y, x, (row + 0.15 * unit, column - unit, 0.7 * unit, 0.3 * unit), tilt=-0.12),
            radius(y, x, (valve + 0.45 * unit, column - unit, 0.43 * unit, 0.4 * unit)),
        ]
    echo += soft(np.min(dark, axis=0), 0.12) * (0.06 - echo)
    for side in (-1, 1):  # leaflets of the mitral valve
        leaf = radius(y, x, (valve, column + 0.22 * unit * side, 0.01, 0.2 * unit))
        echo += soft(leaf + (radius(y, x, cavity) < 1.0), 0.6) * (0.85 - echo)
    depth, inside = sector(height, width)
    grain = speckle(np.random.default_rng((seed, noise, 43)), shape)
    grey = echo * (0.45 + 0.6 * grain) * (1.15 - 0.35 * depth) * 255
    grey += 25 * soft(depth / 0.09, 0.5) * grain
    grey = np.where(inside, grey, 0)
    grey[marker(height, width)] = 250
    return np.clip(grey, 0, 255).astype(np.uint8)


def sector(height: int, width: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the depth below the probe, 0 to 1, and the mask of the sector."""
    y, x = places(height, width)
    down, aside = (y + 0.01) * height, (x - 0.5) * width
    depth = np.hypot(down, aside) / (0.99 * height)
    return depth, (np.abs(np.arctan2(aside, down)) < _HALF_ANGLE) & (depth > 0.03) & (depth < 1)


def speckle(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return a speckle pattern, wider than high, with amplitude about 1."""
    parts = rng.normal(0, 1, (2, *shape))
    for axis, steps in ((2, (1, -1)), (1, (1,))):
        parts = np.sum([parts, *(np.roll(parts, step, axis=axis) for step in steps)], axis=0)
    grain: Floats = np.hypot(parts[0], parts[1]) / (1.25 * np.sqrt(6))
    return grain


def _atrium(seed: int, cavity: Ellipse, valve: float) -> Ellipse:
    rng = np.random.default_rng((seed, 44))
    unit = valve - cavity[0]
    size = (0.43 + 0.07 * rng.random()) * unit
    return (valve + 0.15 * unit + size, cavity[1], size, (0.42 + 0.1 * rng.random()) * unit)
