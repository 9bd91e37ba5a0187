"""Drawing of findings on a synthetic chest radiograph, never outside their area."""

from __future__ import annotations

import numpy as np

from medrcube.sources._synthetic.chest_places import Sketch, ellipse_around, fallen_lung
from medrcube.sources._synthetic.shapes import Floats, Mask, enlarged, faded, radius, soft

__all__ = ["air", "broken", "dense", "emptied", "fluid_level", "net", "ring", "solid"]


def dense(
    grey: Floats, area: Mask, texture: Floats, at: Sketch, *, strength: float, patchy: float = 0.0
) -> Floats:
    del at
    weight = _inner(area) * np.clip(1 - patchy + patchy * texture, 0, 1)
    return np.asarray(grey + strength * weight * np.clip(0.95 - grey, 0, None))


def solid(grey: Floats, area: Mask, texture: Floats, at: Sketch, *, value: float) -> Floats:
    """Fill the area with the density of fluid or soft tissue, up to its border."""
    del at
    inside = area.astype(np.float64)
    steps = [np.roll(inside, step, axis) for axis in (0, 1) for step in (-1, 1)]
    weight: Floats = area * np.mean([inside, *steps], axis=0)
    return grey + weight * (np.maximum(grey, value + 0.015 * texture) - grey)


def net(grey: Floats, area: Mask, texture: Floats, at: Sketch) -> Floats:
    """Draw a reticular pattern along the zero lines of a texture."""
    del at
    net = np.clip(1 - np.abs(texture) / 0.3, 0, 1)
    return grey + 0.5 * faded(area) * area * net * (0.95 - grey)


def ring(
    grey: Floats, area: Mask, texture: Floats, at: Sketch, *, wall: float, around: float = 0.0
) -> Floats:
    """Draw a cavity: air inside a wall, optionally within a dense area.

    ``wall`` is the wall thickness relative to the radius, ``around`` the strength of the density.
    """
    edge = radius(at.y, at.x, ellipse_around(area))
    shell = soft(np.abs(edge - (1 - wall / 2)) / (wall / 2), 0.6)
    if around:  # the cavity is at the centre of the area
        grey = dense(grey, area, texture, at, strength=around, patchy=0.4)
        edge = 1.8 * edge
        shell = soft(np.abs(edge - (1 - wall / 2)) / (wall / 2), 0.6)
    hollow = soft(edge / (1 - wall), 0.2)
    walled = grey + 0.55 * shell * (0.95 - grey)
    return np.where(area, np.maximum(walled * (1 - 0.6 * hollow), 0.1), grey)


def air(grey: Floats, area: Mask, texture: Floats, at: Sketch) -> Floats:
    """Draw air without lung markings, and the pleural line along the collapsed lung."""
    del texture
    small = tuple(max(round(20 * side / max(area.shape)), 1) for side in area.shape)
    plain = enlarged(enlarged(grey, (small[0], small[1])), area.shape)
    grey = np.where(area, 0.5 * np.minimum(plain, grey), grey)
    line = area * soft(np.abs(fallen_lung(at) - 1.03) / 0.04, 0.5)
    return grey + 0.45 * line * (0.95 - grey)


def emptied(grey: Floats, area: Mask, texture: Floats, at: Sketch) -> Floats:
    """Darken the area, as in emphysema."""
    del texture, at
    return grey * (1 - 0.4 * faded(area) * area)


def broken(grey: Floats, area: Mask, texture: Floats, at: Sketch) -> Floats:
    """Draw a fracture: the outer fragment is displaced downward, with a gap between the two."""
    del texture
    _, column, *_ = ellipse_around(area)
    out = (at.x - column) * (1 if at.which % 2 else -1)
    lowered = np.roll(grey, max(round(0.03 * grey.shape[0]), 1), axis=0)
    moved = np.where(area & (out > 0), lowered, grey)
    gap = area & (np.abs(out) < 0.01)
    return np.where(gap, 0.6 * moved, moved)


def fluid_level(grey: Floats, area: Mask, texture: Floats, at: Sketch) -> Floats:
    """Draw an air-fluid level in a round area."""
    row, *_ = ellipse_around(area)
    grey = solid(grey, area, texture, at, value=0.72)
    return grey * (1 - 0.35 * _inner(area) * (at.y < row))


def _inner(area: Mask) -> Floats:
    """Return weights that fall from 1 at the centre of an area to 0 at its border.

    In a tiny area all weights are 1.
    """
    whole = area.astype(np.float64)
    return whole * np.clip(2 * faded(area) - 1, 0, 1) if area.sum() > 30 else whole
