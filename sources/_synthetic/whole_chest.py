"""A synthetic chest CT with cubic voxels, and masks of its lobes, organs and heart chambers.

Volumes are ``(slices, rows, columns)`` in display order: caudal to cranial, anterior to posterior,
patient right on image left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_ct import clear_slice
from medrcube.sources._synthetic.shapes import Ellipse, Floats, Mask, marker, places, radius

__all__ = ["abdomen", "whole_chest"]

_EVERY = 4
"""Number of consecutive slices with the same ribs and vessels."""
_CARINA = 0.55
"""Relative height of the carina, above the heart."""
_TUBES: dict[str, tuple[Ellipse, float, float, int]] = {
    "esophagus": ((0.6, 0.5, 0.036, 0.036), 0.0, 1.0, 35),
    "spinal cord": ((0.755, 0.5, 0.035, 0.035), 0.0, 1.0, 40),
    "descending aorta": ((0.65, 0.585, 0.036, 0.036), 0.0, 0.8, 160),
    "ascending aorta": ((0.36, 0.5, 0.05, 0.05), _CARINA, 0.8, 160),
    "arch of the aorta": ((0.5, 0.57, 0.17, 0.045), 0.8, 0.86, 160),
    "superior vena cava": ((0.41, 0.415, 0.034, 0.034), _CARINA, 1.0, 150),
    "pulmonary artery": ((0.43, 0.6, 0.06, 0.05), _CARINA, 0.68, 170),
    "trachea": ((0.515, 0.47, 0.036, 0.036), _CARINA, 1.0, -1000),
    "sternum": ((0.19, 0.5, 0.024, 0.06), 0.25, 0.95, 320),
}
"""Axial cross-section, lowest and highest relative position, and Hounsfield units."""
_HEART: Ellipse = (0.42, 0.56, 0.15, 0.13)
_LUNGS: dict[str, Ellipse] = {"right": (0.49, 0.29, 0.27, 0.165), "left": (0.49, 0.73, 0.27, 0.15)}


def whole_chest(count: int, side: int, *, seed: int) -> tuple[NDArray[np.int16], dict[str, Mask]]:
    """Return a contrast-enhanced volume ``(count, side, side)`` and the masks of its structures.

    Args:
        count: number of slices.
        side: rows and columns.
        seed: selects the person.
    """
    rng = np.random.default_rng((seed, 41))
    z = (np.arange(count) + 0.5)[:, None, None] / count
    y, x = places(side, side)
    units = _body(count, side, seed)
    masks = {
        name: (radius(y, x, ellipse) < 1) & (low <= z) & (z < high)
        for name, (ellipse, low, high, _) in _TUBES.items()
    }
    masks |= _chambers(y, x, z)
    masks["heart"] = np.any([masks[name] for name in _GREYS], axis=0)
    solid = np.any(list(masks.values()), axis=0) | (radius(y, x, (0.5, 0.5, 0.3, 0.09)) < 1)
    size = 1.02 - 0.9 * (z - 0.42) ** 2
    for name, (row, column, tall, wide) in _LUNGS.items():
        lung = np.hypot((y - row) / tall, (x - column) / wide) < size
        masks |= _lobes(name, lung & ~solid, y, z)
    lobes = [mask for name, mask in masks.items() if name.endswith("lobe")]
    lungs = np.any(lobes, axis=0)
    units[~lungs & (units < -300) & (radius(y, x, (0.505, 0.5, 0.3, 0.38)) < 1)] = -80
    units[lungs & (units > -500) & (rng.random(units.shape) > 0.25)] = -850
    units[lungs & (units > 0)] = -820
    for lobe in lobes:
        edge = lobe & ~np.roll(lobe, -1, axis=0) & np.roll(lungs, -1, axis=0)
        units[edge] = -620
    for name, value in {**{name: tube[3] for name, tube in _TUBES.items()}, **_GREYS}.items():
        units[masks[name]] = value
    masks["aorta"] = np.any([masks.pop(name) for name in list(masks) if "aorta" in name], axis=0)
    return _finished(units, rng), masks


def abdomen(count: int, side: int, *, seed: int) -> NDArray[np.int16]:
    """Return a trunk without lungs: soft tissue, spine and couch."""
    units = _body(count, side, seed)
    y, x = places(side, side)
    inside = np.broadcast_to(radius(y, x, (0.505, 0.5, 0.32, 0.4)) < 1, units.shape)
    units[inside & (units < -150)] = 55
    return _finished(units, np.random.default_rng((seed, 42)))


_GREYS = {
    "left ventricle": 190,
    "right ventricle": 180,
    "myocardium": 95,
    "left atrium": 185,
    "right atrium": 170,
}
"""Hounsfield units of the parts of the heart."""


def _body(count: int, side: int, seed: int) -> Floats:
    steps = [clear_slice((side, side), 0.97, seed, k) for k in range(0, count, _EVERY)]
    return np.repeat(np.stack(steps), _EVERY, axis=0)[:count].copy()


def _chambers(y: Floats, x: Floats, z: Floats) -> dict[str, Mask]:
    row, column, tall, wide = _HEART
    across, down = (x - column) / wide, (y - row) / tall
    height = (z - 0.3) / 0.25
    heart = across**2 + down**2 + height**2 < 1
    rest = heart.copy()
    parts: dict[str, Mask] = {}
    bounds = {
        "left atrium": (down > 0.4) & (across > -0.45),
        "left ventricle": np.hypot(across - 0.4, down + 0.08) < 0.36,
        "myocardium": np.hypot(across - 0.4, down + 0.08) < 0.58,
        "right atrium": across < -0.35,
        "right ventricle": np.ones_like(down, np.bool_),
    }
    for name, bound in bounds.items():
        parts[name] = rest & bound
        rest &= ~bound
    return parts


def _lobes(name: str, lung: Mask, y: Floats, z: Floats) -> dict[str, Mask]:
    """Split a lung at its oblique fissure, and the right lung also at its horizontal fissure."""
    above = z > 0.1 + 1.1 * (y - 0.25)
    upper = above if name == "left" else above & (z > 0.45)
    lobes = {f"{name} upper lobe": lung & upper, f"{name} lower lobe": lung & ~above}
    if name == "right":
        lobes["right middle lobe"] = lung & above & ~upper
    return lobes


def _finished(units: Floats, rng: np.random.Generator) -> NDArray[np.int16]:
    units += rng.normal(0, 12, units.shape)
    units[:, marker(*units.shape[1:])] = 1000
    return np.rint(units).astype(np.int16)
