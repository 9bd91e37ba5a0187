"""Synthetic chest films: path lengths through trunk, lungs, heart, spine, ribs and clavicles.

Dense is bright, as in MONOCHROME2. Each seed is a different person, with different size, heart,
diaphragm, ribs and exposure.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_person import (
    Person,
    clavicle_line,
    heart_edge,
    lung_edge,
    person_of,
)
from medrcube.sources._synthetic.shapes import (
    Floats,
    Mask,
    cloud,
    dome,
    enlarged,
    faded,
    marker,
    places,
    radius,
    soft,
    to_display,
)

__all__ = [
    "Paint",
    "chest_film",
    "clavicles",
    "heart",
    "lateral_film",
    "lung_lesion",
    "lungs",
]

Paint = Callable[[Floats], Floats]
"""Draws upon a film of full size, before the noise."""

_SIDE = 224
"""Anatomy of larger films is drawn at this size and enlarged; noise and lesions are not."""
_NOISE = 0.012


def chest_film(
    height: int,
    width: int,
    *,
    seed: int,
    maximum: int = 255,
    opacity: Mask | None = None,
    lucency: Mask | None = None,
    person: Person | None = None,
    paint: Paint | None = None,
) -> NDArray[np.uint16]:
    """Return a frontal film ``(height, width)`` with values 0 to ``maximum``.

    Args:
        height: rows.
        width: columns.
        seed: seed of the person and the noise.
        maximum: value of a radiopaque pixel.
        opacity: mask of dense lung.
        lucency: mask of air without vessels.
        person: replaces the healthy person of the seed.
        paint: function that draws further signs.
    """
    rng = np.random.default_rng((seed, 11))
    size = _drawn_at(height, width)
    grey = _frontal(*size, person=person or person_of(seed), rng=rng)
    grey = enlarged(grey, (height, width))
    grey = paint(grey) if paint else grey
    return _finished(grey, rng, maximum, opacity, lucency)


def lateral_film(
    height: int,
    width: int,
    *,
    seed: int,
    maximum: int = 255,
    opacity: Mask | None = None,
    person: Person | None = None,
    paint: Paint | None = None,
) -> NDArray[np.uint16]:
    """Return a lateral film like ``chest_film``: front at the left, spine at the right."""
    rng = np.random.default_rng((seed, 12))
    size = _drawn_at(height, width)
    y, x = places(*size)
    person = person or person_of(seed)
    x = x - 1.5 * (person.middle - 0.5)
    trunk = dome(radius(y, x, (0.62, 0.52, 0.66, 0.36 * person.girth), tilt=0.04) ** 1.5)
    arm = soft(radius(y, x, (0.06, 0.44, 0.16, 0.13)), 0.3)
    lung = soft(radius(y, x, (0.46, 0.5, 0.36, 0.27), tilt=-0.08) ** 1.3, 0.2)
    lung *= soft(y / (person.base - 0.02 + 1.2 * (x - 0.42) ** 2), 0.05)
    core = radius(y, x, (person.base - 0.17, 0.34, 0.13 * person.heart, 0.13), tilt=-0.5)
    core = soft(core, 0.35)
    spine = soft(np.abs(x - 0.72 - 0.3 * (y - 0.55) ** 2) / 0.05, 0.4) * (y > 0.06)
    blocks = 0.75 + 0.25 * np.cos(2 * np.pi * y / 0.075)
    path = 1.15 * trunk + 0.5 * arm - 0.8 * lung * trunk + 0.5 * core * lung
    path = path + 0.38 * spine * blocks * trunk
    for number in range(7):
        bow = 0.17 + 0.085 * number + 0.16 * (0.72 - x) - 0.25 * (x - 0.5) ** 2
        rib = soft(np.abs(y - bow) / 0.008, 1.2) * (x > 0.26) * (x < 0.72)
        path = path + 0.1 * rib * trunk
    grey = 0.02 + 0.9 * (1 - np.exp(-1.5 * person.exposure * np.clip(path, 0, None)))
    grey += 0.05 * cloud(rng, size, 4) * (trunk > 0)
    grey = enlarged(grey, (height, width))
    grey = paint(grey) if paint else grey
    return _finished(grey, rng, maximum, opacity, None)


def lungs(height: int, width: int, *, seed: int, person: Person | None = None) -> tuple[Mask, Mask]:
    """Return masks of right and left lung, without parts covered by heart and diaphragm."""
    y, x = places(height, width)
    person = person or person_of(seed)
    free = heart_edge(y, x, person) >= 1
    right, left = ((lung_edge(y, x, person, side) < 1) & free for side in (-1, 1))
    return right, left


def heart(height: int, width: int, *, seed: int, person: Person | None = None) -> Mask:
    """Return the mask of the heart."""
    y, x = places(height, width)
    return heart_edge(y, x, person or person_of(seed)) < 1


def clavicles(height: int, width: int, *, seed: int) -> tuple[Mask, Mask]:
    """Return masks of the right and left clavicle of the person of ``seed``."""
    y, x = places(height, width)
    right, left = (clavicle_line(y, x, person_of(seed), side) < 0.017 for side in (-1, 1))
    return right, left


def lung_lesion(height: int, width: int, *, seed: int, which: int = 0) -> Mask:
    """Return an ellipse within a lung: the right one for an even ``which``, else the left one."""
    person = person_of(seed)
    rng = np.random.default_rng((seed, which, 13))
    side = 1 if which % 2 else -1
    row = 0.33 + 0.24 * rng.random()
    if side > 0:  # there is less room next to the heart
        row = 0.28 + 0.14 * rng.random()
    column = person.middle + side * person.girth * (0.2 + 0.05 * rng.random())
    size = 0.045 + 0.03 * rng.random()
    y, x = places(height, width)
    return radius(y, x, (row, column, 1.25 * size, size)) < 1


def _drawn_at(height: int, width: int) -> tuple[int, int]:
    scale = min(1.0, _SIDE / max(height, width))
    return max(round(height * scale), 1), max(round(width * scale), 1)


def _finished(
    grey: Floats,
    rng: np.random.Generator,
    maximum: int,
    opacity: Mask | None,
    lucency: Mask | None,
) -> NDArray[np.uint16]:
    if opacity is not None:
        grey = grey + 0.5 * faded(opacity) * (1 - grey)
    if lucency is not None:
        grey = grey * (1 - 0.65 * faded(lucency))
    grey += rng.normal(0, _NOISE, grey.shape) * (grey > 0.05)
    grey[marker(*grey.shape)] = 0.95
    return to_display(grey, maximum)


def _frontal(height: int, width: int, *, person: Person, rng: np.random.Generator) -> Floats:
    y, x = places(height, width)
    across = (x - person.middle) / person.girth
    # Neck, shoulders, trunk: half the width of the body at each height.
    slope = np.clip((y - 0.03) / 0.16, 0, 1)
    half = 0.11 + 0.325 * slope * slope * (3 - 2 * slope) - 0.05 * np.clip(y - 0.3, 0, 1)
    trunk = dome(np.clip(np.abs(across) / half, 0, 2) ** 1.6)
    thick = trunk * (0.75 + 0.25 * y)
    air = np.zeros_like(thick)
    for side in (-1, 1):
        r = lung_edge(y, x, person, side)
        air = np.maximum(air, soft(r, 0.07) * (0.45 + 0.55 * dome(r)))
    core = heart_edge(y, x, person)
    pushed = across - person.shift
    middle = np.abs(pushed + 0.01 * np.sin(9 * y))
    stem = soft(middle / (0.055 + 0.05 * np.clip(y - 0.45, 0, 1)), 0.35)
    knob = soft(radius(y, x - person.shift, (0.31, person.middle + 0.06, 0.055, 0.05)), 0.3)
    solid = np.maximum(soft(core, 0.1) * (0.5 + 0.5 * dome(core)), np.maximum(stem, 0.8 * knob))
    path = 1.05 * thick - 0.85 * air * (1 - solid)
    path += 0.3 * solid * trunk + _bones(y, x, person) * trunk
    path += 0.10 * _vessels(y, x, person, rng) * air
    windpipe = soft(np.abs(pushed) / 0.018, 0.5) * soft(y / 0.34, 0.15)
    bubble = soft(radius(y, x, (person.base + 0.11, person.middle + 0.2, 0.04, 0.075)), 0.3)
    path -= 0.2 * windpipe + 0.35 * bubble
    grey: Floats = 0.02 + 0.9 * (1 - np.exp(-1.7 * person.exposure * np.clip(path, 0, None)))
    return grey + 0.05 * cloud(rng, (height, width), 4) * trunk


def _bones(y: Floats, x: Floats, person: Person) -> Floats:
    away = np.abs(x - person.middle) / person.girth
    bent = person.bend * np.sin(2.5 * np.pi * y)
    spine = np.abs(x - person.middle - bent) / person.girth
    spine = soft(spine / 0.032, 0.5) * (0.16 + 0.06 * np.cos(2 * np.pi * y / 0.06))
    bones = np.broadcast_to(spine, np.broadcast_shapes(y.shape, x.shape)).copy()
    gap = 0.068 + 0.006 * person.ribs
    for number in range(10):
        start = person.top + 0.035 + gap * (number + person.ribs / 3)
        reach = 0.2 + 0.16 * min(1.0, 0.45 + number / 7)
        t = away / reach
        behind = start + 0.035 * t - 0.075 * np.sin(np.pi * np.clip(t, 0, 1)) + 0.13 * t**3
        bones += _rib(y - behind, 0.0125) * 0.17 * ((away > 0.03) & (t < 1))
        before = start + 0.2 - 0.14 * t + 0.1 * t * t
        bones += _rib(y - before, 0.012) * 0.07 * ((away > 0.11) & (t < 1)) * (number < 7)
    for side in (-1, 1):
        bones += 0.24 * soft(clavicle_line(y, x, person, side) / 0.016, 0.6)
    return bones


def _rib(distance: Floats, half: float) -> Floats:
    """A band whose edges, the cortex, are denser than its middle."""
    share = np.abs(distance) / half
    return soft(share, 0.5) * (0.65 + 0.35 * np.clip(share, 0, 1))


def _vessels(y: Floats, x: Floats, person: Person, rng: np.random.Generator) -> Floats:
    """Bright branches that leave both hila and thin out."""
    picture = np.zeros(np.broadcast_shapes(y.shape, x.shape))
    for side in (-1, 1):
        half = np.flatnonzero(side * (x[0] - person.middle) > 0.05)
        down, out = y - 0.44 - 0.01 * side, side * (x[:, half] - person.middle) - 0.085
        away, angle = np.hypot(down, out), np.arctan2(down, out)
        pixels = picture[:, half]
        for start in np.linspace(-1.2, 1.2, 8) + rng.normal(0, 0.1, 8):
            length, bend = 0.2 + 0.1 * rng.random(), rng.normal(0, 2.0)
            aside = away * np.abs(angle - start - bend * away)
            strength = 1.2 * np.clip(1 - away / length, 0, 1)
            pixels = np.maximum(pixels, np.clip(1.4 - aside / 0.007, 0, 1) * strength)
        picture[:, half] = pixels
    return picture
