"""A synthetic chest CT in Hounsfield units for fixtures.

Volumes are ``(slices, rows, columns)`` in display order: foot to head, front to back, and the
patient's right at the left of the picture. A bright mark lies in the upper left corner.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SHAPE = (10, 96, 96)
WIDEST = 3
"""Index of the slice with the largest lungs, which is not the middle one."""

Mask = NDArray[np.bool_]

_AIR, _LUNG, _SOFT, _BONE = -1000, -850, 40, 400
# Row, column and half axes of each organ, as shares of the picture.
_ELLIPSES = {
    "body": (0.52, 0.5, 0.42, 0.46),
    "right lung": (0.48, 0.3, 0.26, 0.15),
    "left lung": (0.48, 0.72, 0.24, 0.13),
    "heart": (0.42, 0.56, 0.13, 0.11),
    "esophagus": (0.6, 0.5, 0.05, 0.05),
    "spinal cord": (0.76, 0.5, 0.045, 0.045),
}
_VERTEBRA = (0.76, 0.5, 0.1, 0.1)


def chest(*, seed: int, tumour: Mask | None = None) -> NDArray[np.int16]:
    """A chest with lungs, heart, gullet, spine, and a mass where ``tumour`` says so."""
    rng = np.random.default_rng(seed)
    volume = np.full(SHAPE, _AIR, np.float64)
    volume[organ("body")] = _SOFT
    for side in ("right lung", "left lung"):
        volume[organ(side)] = _LUNG
    for name in ("heart", "esophagus"):
        volume[organ(name)] = _SOFT + 15
    volume[_tube(_VERTEBRA)] = _BONE
    volume[organ("spinal cord")] = _SOFT
    if tumour is not None:
        volume[tumour] = _SOFT
    volume += rng.normal(0, 12, SHAPE)
    rows, columns = SHAPE[1:]
    volume[:, rows // 16 : rows // 7, columns // 16 : columns // 5] = 1000
    return np.rint(volume).astype(np.int16)


def organ(name: str) -> Mask:
    """Where an organ lies; lungs do not hold the heart and are widest on one slice."""
    if not name.endswith("lung"):
        return _tube(_ELLIPSES[name])
    row, column, height, width = _ELLIPSES[name]
    mask = np.zeros(SHAPE, np.bool_)
    for k in range(SHAPE[0]):
        scale = 1 - 0.07 * abs(k - WIDEST)
        mask[k] = _ellipse((row, column, height * scale, width * scale))
    return mask & ~organ("heart")


def tumour(*, seed: int, radius: float = 8.0, height: int = 2) -> Mask:
    """A ball in the right lung, in pixels; its largest slice is neither the middle nor WIDEST.

    Args:
        seed: moves it.
        radius: of its largest slice.
        height: slices above and below that one.
    """
    rng = np.random.default_rng((seed, 3))
    row = SHAPE[1] * (0.4 + 0.14 * rng.random())
    column = SHAPE[2] * (0.26 + 0.06 * rng.random())
    centre = 6 if seed % 2 else 5
    rows, columns = np.mgrid[0 : SHAPE[1], 0 : SHAPE[2]]
    mask = np.zeros(SHAPE, np.bool_)
    for k in range(max(centre - height, 0), min(centre + height + 1, SHAPE[0])):
        size = radius * (1 - 0.3 * abs(k - centre))
        mask[k] = np.hypot(rows - row, columns - column) < size
    return mask


def _tube(ellipse: tuple[float, float, float, float]) -> Mask:
    return np.broadcast_to(_ellipse(ellipse), SHAPE).copy()


def _ellipse(ellipse: tuple[float, float, float, float]) -> Mask:
    row, column, height, width = ellipse
    rows, columns = np.mgrid[0 : SHAPE[1], 0 : SHAPE[2]]
    inside: Mask = (
        ((rows / SHAPE[1] - row) / height) ** 2 + ((columns / SHAPE[2] - column) / width) ** 2
    ) < 1
    return inside
