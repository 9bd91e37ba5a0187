"""A synthetic chest CT in Hounsfield units for fixtures.

Volumes are ``(slices, rows, columns)`` in display order: caudal to cranial, anterior to posterior,
patient right on image left. A marker is placed in the air at the upper left.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.shapes import (
    Ellipse,
    Floats,
    Mask,
    cloud,
    enlarged,
    faded,
    marker,
    places,
    radius,
    soft,
)

__all__ = [
    "RADII",
    "SHAPE",
    "WIDEST",
    "chest",
    "chest_slice",
    "clear_slice",
    "lung_window",
    "organ",
    "tumour",
]

SHAPE = (10, 96, 96)
WIDEST = 3
"""Index of the slice with the largest lungs; not the middle slice."""

RADII = (3.5, 11.0)
"""Minimum and maximum tumour radius in pixels; at 2 mm pixels, diameters of 14 to 44 mm."""

_STEPS = (0.618034, 0.754878, 0.569840)
"""Fractional parts of multiples of these spread evenly over 0 to 1 (generalised golden ratios)."""

_AIR, _LUNG, _FAT, _SOFT, _BONE, _MARKER = -1000, -860, -100, 40, 420, 1000
_ELLIPSES: dict[str, Ellipse] = {
    "body": (0.52, 0.5, 0.41, 0.475),
    "right lung": (0.49, 0.3, 0.27, 0.165),
    "left lung": (0.49, 0.71, 0.27, 0.155),
    "heart": (0.42, 0.56, 0.14, 0.12),
    "esophagus": (0.6, 0.5, 0.035, 0.035),
    "spinal cord": (0.755, 0.5, 0.035, 0.035),
}
_CAGE: Ellipse = (0.505, 0.5, 0.315, 0.395)
_VERTEBRA: Ellipse = (0.685, 0.5, 0.045, 0.07)
_SOLID: tuple[tuple[Ellipse, int], ...] = (
    ((0.65, 0.575, 0.032, 0.032), 60),  # aorta
    ((0.35, 0.5, 0.045, 0.045), 55),
    (_ELLIPSES["heart"], 50),
    (_ELLIPSES["esophagus"], 35),
)
_DRAWN_AT = 200
"""Larger slices are drawn at this size and upscaled; noise is added at full size."""


def chest(*, seed: int, tumour: Mask | None = None) -> NDArray[np.int16]:
    """Return a chest with lungs, heart, esophagus, ribs and spine, and an optional tumour."""
    rng = np.random.default_rng(seed)
    scales = [_scale(k) for k in range(SHAPE[0])]
    volume = np.stack([clear_slice(SHAPE[1:], scale, seed, k) for k, scale in enumerate(scales)])
    if tumour is not None:
        volume[tumour] = _SOFT
    volume += rng.normal(0, 12, SHAPE)
    volume[:, marker(*SHAPE[1:])] = _MARKER
    return np.rint(volume).astype(np.int16)


def chest_slice(
    height: int, width: int, *, seed: int, opacity: bool | Mask = False
) -> NDArray[np.int16]:
    """Return one slice of any size; ``opacity`` adds ground glass, in a mask or at random."""
    rng = np.random.default_rng((seed, 5))
    side = min(1.0, _DRAWN_AT / max(height, width))
    small = (round(height * side), round(width * side))
    units = enlarged(clear_slice(small, 0.9 + 0.12 * rng.random(), seed, 0), (height, width))
    if opacity is not False:
        y, x = places(height, width)
        row, column = 0.45 + 0.18 * rng.random(), 0.27 + 0.06 * rng.random()
        hazy = radius(y, x, (row, column, 0.1, 0.075)) < 1 if opacity is True else opacity
        units = np.where(units < _FAT, units + 600 * faded(hazy) * (units > _AIR + 60), units)
    units += rng.normal(0, 14, units.shape)
    units[marker(height, width)] = _MARKER
    return np.rint(units).astype(np.int16)


def lung_window(units: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Convert to 8-bit grey values with the usual lung window, -1350 to 150 HU."""
    return np.rint((units.clip(-1350, 150) + 1350.0) * (255 / 1500)).astype(np.uint8)


def organ(name: str) -> Mask:
    """Return the mask of an organ; the lungs exclude the heart and are widest at ``WIDEST``."""
    y, x = places(*SHAPE[1:])
    if not name.endswith("lung"):
        return np.broadcast_to(radius(y, x, _ELLIPSES[name]) < 1, SHAPE).copy()
    lung = np.stack([_lung(y, x, name, _scale(k)) < 1 for k in range(SHAPE[0])])
    return lung & ~organ("heart")


def tumour(*, seed: int, radius: float | None = None, height: int = 2) -> Mask:
    """Return a round tumour in the right lung, largest on neither the middle slice nor ``WIDEST``.

    Size and position are spread evenly over consecutive seeds, so that adjacent patients differ.

    Args:
        seed: determines the position.
        radius: radius in pixels on its largest slice; by default within ``RADII``, from the seed.
        height: number of slices above and below the largest one.
    """
    least, most = RADII
    across, down, aside = (seed * step % 1 for step in _STEPS)
    size = radius or least * (most / least) ** across
    middle, centre, tall, wide = _ELLIPSES["right lung"]
    # Keep the tumour inside the lung, which is smaller on these slices, and clear of the heart.
    tall, wide = (max(0.8 * half - size / SHAPE[1], 0.0) for half in (tall, wide))
    row = middle + 0.7 * tall * (2 * down - 1)
    column = centre + _TILT["right lung"] * (row - middle) + 0.7 * wide * (1.3 * aside - 1)
    largest = 6 if seed % 2 else 5
    y, x = (SHAPE[axis] * share for axis, share in ((1, row), (2, column)))
    rows, columns = np.mgrid[0 : SHAPE[1], 0 : SHAPE[2]]
    mask = np.zeros(SHAPE, np.bool_)
    for k in range(max(largest - height, 0), min(largest + height + 1, SHAPE[0])):
        reach = size * (1 - 0.3 * abs(k - largest))
        mask[k] = np.hypot(rows - y, columns - x) < reach
    return mask


def _scale(k: int) -> float:
    return 1 - 0.05 * abs(k - WIDEST)


def _lung(y: Floats, x: Floats, name: str, scale: float) -> Floats:
    row, column, tall, wide = _ELLIPSES[name]
    return radius(y, x, (row, column, tall * scale, wide * scale), tilt=_TILT[name])


_TILT = {"right lung": -0.16, "left lung": 0.16}
"""Tilt of each lung: outward towards the back."""


def clear_slice(shape: tuple[int, int], scale: float, seed: int, k: int) -> Floats:
    """Return Hounsfield units of one slice, without noise or marker.

    Args:
        shape: rows and columns.
        scale: relative size of the lungs, 1 at their widest.
        seed: selects the person.
        k: slice number; ribs and vessels vary with it.
    """
    rng = np.random.default_rng((seed, k, 6))
    y, x = places(*shape)
    units = _trunk(shape, seed).copy()
    vessels = np.clip(3 * (cloud(rng, shape, 34) - 1.0), 0, 1)
    fine = _LUNG + 60 * (y - 0.5) + 25 * cloud(rng, shape, 12) + 640 * vessels
    solid = _mediastinum(shape)
    for name in _TILT:
        inside = soft(_lung(y, x, name, scale), 0.06) * (1 - solid)
        units += inside * (fine - units)
    cage = radius(y, x, _CAGE)
    angle = np.arctan2(y - _CAGE[0], np.abs(x - _CAGE[1]))
    wall = soft(np.abs(cage - 1) / 0.045, 0.6)
    ribs = wall * np.clip(4 * np.cos(13 * angle + 0.8 * k + seed % 7) - 0.6, 0, 1)
    ribs *= (y > 0.3) | (np.abs(x - 0.5) < 0.05)
    return units + ribs * (0.8 * _BONE - units)


@functools.lru_cache(maxsize=8)
def _trunk(shape: tuple[int, int], seed: int) -> Floats:
    """Return the trunk without lungs: skin, fat, muscle, bones and couch."""
    rng = np.random.default_rng((seed, 7))
    y, x = places(*shape)
    lean = 0.82 + 0.09 * rng.random()
    row, column, tall, wide = _ELLIPSES["body"]
    body = np.hypot(np.abs((y - row) / tall) ** 1.2, np.abs((x - column) / wide) ** 1.2)
    units = _AIR + soft(body, 0.03) * (_FAT - _AIR)
    muscle = soft(body / lean, 0.06) * np.clip(0.8 + 0.3 * cloud(rng, shape, 14), 0.3, 1)
    units += muscle * (_SOFT + 10 - units)
    chest_wall = soft(radius(y, x, _CAGE) / 0.97, 0.05)
    units += chest_wall * (_FAT + 60 + 40 * cloud(rng, shape, 9) - units)
    for ellipse, value in _SOLID:
        units += soft(radius(y, x, ellipse), 0.2) * (value - units)
    cord = radius(y, x, _ELLIPSES["spinal cord"])
    arch = soft(np.abs(cord - 1.35) / 0.35, 0.4)
    spine = np.maximum(soft(radius(y, x, _VERTEBRA), 0.15), arch)
    spines = np.maximum(
        soft(radius(y, x, (0.85, 0.5, 0.05, 0.014)), 0.4),
        soft(radius(y, x, (0.73, 0.5, 0.018, 0.13)), 0.4) * (np.abs(x - 0.5) > 0.05),
    )
    for side in (-1, 1):  # shoulder blades
        blade = radius(y, x, (0.72, 0.5 + 0.3 * side, 0.09, 0.014), tilt=-0.7 * side)
        spines = np.maximum(spines, 0.8 * soft(blade, 0.4))
    units += np.maximum(spine, spines) * (_BONE + 60 * cloud(rng, shape, 30) - units)
    units += soft(cord, 0.3) * (_SOFT - units)
    for away in (-0.045, 0.05):  # main bronchi
        units += soft(radius(y, x, (0.54, 0.5 + away, 0.02, 0.02)), 0.4) * (_AIR - units)
    couch = soft(np.abs(y - 0.97 + 0.1 * (x - 0.5) ** 2) / 0.008, 0.6) * (np.abs(x - 0.5) < 0.42)
    return units + couch * (-150 - units)


@functools.lru_cache(maxsize=8)
def _mediastinum(shape: tuple[int, int]) -> Floats:
    """Return the fraction of each pixel covered by heart, vessels or spine rather than lung."""
    y, x = places(*shape)
    solid = [soft(radius(y, x, ellipse), 0.15) for ellipse, _ in _SOLID]
    solid += [soft(radius(y, x, _VERTEBRA) / 1.1, 0.15)]
    middle = radius(y, x, (0.47, 0.51, 0.26, 0.075))
    share: Floats = np.max([*solid, soft(middle, 0.25)], axis=0)
    return share
