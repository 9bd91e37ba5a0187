"""Synthetic hearts: short-axis and four-chamber MR, and the whole heart in chest CT and MR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_ct import clear_slice
from medrcube.sources._synthetic.shapes import (
    Ellipse,
    cloud,
    marker,
    places,
    radius,
    soft,
    to_display,
)

__all__ = [
    "Contrast",
    "chest_with_heart",
    "four_chamber_labels",
    "short_axis",
    "short_axis_labels",
]

Contrast = Literal["ct", "mr"]

_BLOOD, _MUSCLE, _WALL, _FAT, _LUNG = 0.82, 0.34, 0.24, 0.74, 0.07
_EVERY = 4
"""Number of consecutive slices with the same ribs and vessels."""


def short_axis_labels(
    height: int, width: int, *, seed: int, scale: float = 1.0
) -> NDArray[np.uint8]:
    """Return a label image: 1 left cavity, 2 its wall, 3 right cavity (to its left on the image).

    Args:
        height: rows.
        width: columns.
        seed: decides the heart.
        scale: scale of the heart; below 1 for contraction.
    """
    rng = np.random.default_rng((seed, 31))
    rows, columns = np.mgrid[0:height, 0:width]
    size = scale * min(height, width) * (0.095 + 0.02 * rng.random())
    row, column = height * (0.43 + 0.04 * rng.random()), width * (0.54 + 0.04 * rng.random())
    distance = np.hypot(rows - row, columns - column) / size
    across = (columns - column + 1.35 * size) / 1.55
    beside = np.hypot((rows - row + 0.25 * size) / 1.5, across) / size
    labels = np.zeros((height, width), np.uint8)
    labels[beside < 1] = 3
    labels[distance < 1.5] = 2
    labels[distance < 1] = 1
    return labels


def four_chamber_labels(
    height: int, width: int, *, seed: int, scale: float = 1.0
) -> NDArray[np.uint8]:
    """Return a long-axis label image: 1 to 3 as in the short axis, 4 both atria.

    The apex points to the upper right of the image; the wall is open towards the atria.

    Args:
        height: rows.
        width: columns.
        seed: decides the heart.
        scale: scale of the ventricles; below 1 for contraction.
    """
    rng = np.random.default_rng((seed, 35))
    rows, columns = np.mgrid[0:height, 0:width]
    side, tilt = float(min(height, width)), 0.5 + 0.1 * rng.random()
    down, across = rows - height * 0.47, columns - width * 0.54
    along = (np.cos(tilt) * down - np.sin(tilt) * across) / side  # towards the atria
    beside = (np.sin(tilt) * down + np.cos(tilt) * across) / side  # towards the left of the body
    size = scale * (0.085 + 0.012 * rng.random())
    base = along < 0.09
    left = np.hypot((along + 0.06) / 2.1, beside - 0.02) / size
    right = np.hypot((along + 0.02) / 1.75, (beside + 0.115 + 0.4 * size) / 0.9) / size
    atria = np.minimum(
        np.hypot(along - 0.17, beside - 0.03) / 0.075,
        np.hypot(along - 0.16, beside + 0.12) / 0.072,
    )
    labels = np.zeros((height, width), np.uint8)
    labels[(atria < 1) & ~base] = 4
    labels[(right < 1) & base] = 3
    labels[(left < 1.42) & base] = 2
    labels[(left < 1) & base] = 1
    return labels


def short_axis(
    labels: NDArray[np.uint8], *, seed: int, count: int, maximum: int
) -> NDArray[np.int16]:
    """Return slices ``(count, rows, columns)`` through one heart in a chest, 0 to ``maximum``.

    Args:
        labels: as of ``short_axis_labels`` or, for one slice along the heart,
            ``four_chamber_labels``.
        seed: decides the chest around the heart.
        count: number of slices, which differ by noise.
        maximum: largest value; blood is bright.
    """
    height, width = labels.shape
    rng = np.random.default_rng((seed, 32))
    y, x = places(height, width)
    body = np.hypot(
        np.abs((y - 0.5) / 0.43) ** 1.2, np.abs((x - 0.53) / (0.4 + 0.05 * rng.random())) ** 1.2
    )
    grey = _FAT * soft(body, 0.05)
    grey += soft(body / (0.84 + 0.06 * rng.random()), 0.05) * (_MUSCLE - grey)
    lungs = np.minimum(
        radius(y, x, (0.5, 0.73, 0.29, 0.13), tilt=0.15),
        radius(y, x, (0.4, 0.29, 0.2, 0.09 + 0.02 * rng.random()), tilt=-0.1),
    )
    grey += soft(lungs, 0.08) * (_LUNG + 0.02 * cloud(rng, labels.shape, 20) - grey)
    liver = soft(radius(y, x, (0.72, 0.32, 0.12, 0.17), tilt=-0.5), 0.15) * soft(body / 0.85, 0.04)
    grey += liver * (0.42 + 0.03 * cloud(rng, labels.shape, 14) - grey)
    spine = soft(radius(y, x, (0.79, 0.55, 0.055, 0.06)), 0.2)
    grey += spine * (0.45 - grey)
    for row, column, size, value in (
        (0.67, 0.61, 0.035, _BLOOD),  # aorta
        (0.79, 0.55, 0.018, 0.9),  # spinal canal
        (0.66, 0.36, 0.014, 0.8),
        (0.75, 0.3, 0.012, 0.8),
    ):
        grey += soft(radius(y, x, (row, column, size, size)), 0.4) * (value - grey)
    sac = radius(y, x, _around(labels))
    grey += soft(sac, 0.06) * (_FAT - 0.1 - grey)
    grey += soft(sac / 0.95, 0.06) * (_MUSCLE - grey)
    for label, value in ((1, _BLOOD), (2, _WALL), (3, _BLOOD - 0.06), (4, _BLOOD - 0.03)):
        grey = np.where(labels == label, value, grey)
    # Papillary muscles darken the cavity.
    dots = np.clip(cloud(rng, labels.shape, 24) - 0.9, 0, 1)
    grey -= 0.25 * dots * (labels == 1)
    grey *= 1 + 0.07 * cloud(rng, labels.shape, 2)
    volume = grey + rng.normal(0, 0.022, (count, height, width)) * (grey > 0.02)
    volume[:, marker(height, width)] = 0.97
    return to_display(volume, maximum).astype(np.int16)


def _around(labels: NDArray[np.uint8]) -> Ellipse:
    """Return the pericardium: an ellipse around all labels."""
    ends = []
    for indices, side in zip(np.nonzero(labels), labels.shape, strict=True):
        ends.append(((indices.min() + indices.max() + 1) / 2 / side, np.ptp(indices) / 2 / side))
    (row, tall), (column, wide) = ends
    return (float(row), float(column), 1.3 * float(tall) + 0.01, 1.2 * float(wide) + 0.01)


def chest_with_heart(
    heart: NDArray[np.uint16], *, seed: int, greys: Mapping[int, float], contrast: Contrast
) -> NDArray[np.int16]:
    """Return a chest ``(slices, rows, columns)`` with the labelled parts of a heart.

    Args:
        heart: labels; 0 is background.
        seed: decides the person and the noise.
        greys: label -> Hounsfield units (``ct``), or grey from 0 to 1 (``mr``).
        contrast: ``ct`` for Hounsfield units, ``mr`` for values 0 to 1500.
    """
    count, height, width = heart.shape
    rng = np.random.default_rng((seed, 34))
    steps = [clear_slice((height, width), 0.95, seed, k) for k in range(0, count, _EVERY)]
    volume = np.repeat(np.stack(steps), _EVERY, axis=0)[:count]
    tissue, unit, bright = (45.0, 14.0, 1000.0) if contrast == "ct" else (0.4, 0.02, 0.97)
    if contrast == "mr":
        volume = np.interp(
            volume, (-1000, -850, -120, -60, 40, 400), (0, 0.05, 0.75, 0.6, 0.4, 0.2)
        )
    y, x = places(height, width)
    z = np.linspace(-1, 1, count)[:, None, None]
    sac = np.sqrt(radius(y, x, (0.5, 0.52, 0.29, 0.27))[None] ** 2 + (z * 0.8) ** 2)
    volume += soft(sac, 0.08) * (tissue - volume)
    for label, value in greys.items():
        volume[heart == label] = value
    volume += rng.normal(0, unit, volume.shape)
    volume[:, marker(height, width)] = bright
    if contrast == "mr":
        volume = np.clip(volume, 0, 1) * 1500
    return np.rint(volume).astype(np.int16)
