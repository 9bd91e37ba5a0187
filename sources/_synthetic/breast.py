"""Synthetic breasts: mammograms in both views, ultrasound, and MR of both breasts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.echo import speckle
from medrcube.sources._synthetic.shapes import (
    Ellipse,
    Floats,
    Mask,
    cloud,
    dome,
    faded,
    marker,
    places,
    radius,
    soft,
    to_display,
)

__all__ = ["MUSCLE", "Descriptors", "breast_lesion", "breast_mr", "breast_ultrasound", "mammogram"]


def mammogram(
    height: int,
    width: int,
    *,
    seed: int,
    maximum: int = 255,
    side: str = "L",
    oblique: bool = False,
    lesion: Mask | None = None,
    specks: bool = False,
) -> NDArray[np.uint16]:
    """Return a mammogram ``(height, width)``, dense tissue bright, 0 to ``maximum``.

    Args:
        height: rows.
        width: columns.
        seed: decides the breast and the noise.
        maximum: largest value.
        side: ``L`` for the chest wall at the left of the image, ``R`` at its right.
        oblique: whether to draw the pectoral muscle, as in an oblique view.
        lesion: mask of a mass or of calcifications.
        specks: calcifications instead of a mass.
    """
    rng = np.random.default_rng((seed, 51))
    y, x = places(height, width)
    away = x if side == "L" else 1 - x
    shape = (height, width)
    middle, reach = 0.53 + 0.05 * rng.random(), 0.78 + 0.12 * rng.random()
    tall = 0.43 + 0.03 * rng.random()
    edge = np.hypot(np.abs((y - middle) / tall) ** 1.3, np.clip(away / reach, 0, None) ** 1.25)
    nipple = radius(y, away, (middle, reach, 0.018, 0.03))
    breast = np.maximum(soft(edge, 0.04), soft(nipple, 0.5))
    fan = soft(radius(y, away, (middle, 0.5 * reach, 0.29, 0.36 * reach)), 0.7)
    density = 0.3 + 0.5 * rng.random()
    lobules = 0.35 * cloud(rng, shape, 7) + 0.22 * cloud(rng, shape, 17)
    gland = fan * np.clip(density + lobules, 0, 1)
    strands = np.clip(1 - np.abs(cloud(rng, shape, 11)) / 0.12, 0, 1)
    grey = 0.28 * dome(np.clip(edge, 0, 1)) ** 0.5 + 0.38 * gland + 0.09 * strands * breast
    grey += 0.12 * soft(np.abs(edge - 0.99) / 0.02, 0.8) * (edge < 1.03)  # skin
    if oblique:
        across, down = MUSCLE
        muscle = soft((away / across + y / down) ** 2, 0.1)
        # The armpit reaches the upper edge of the image.
        breast = np.maximum(breast, soft(away / (across + 0.06) + y / (down + 0.5), 0.08))
        grey += muscle * (0.62 + 0.05 * cloud(rng, shape, 12) - grey)
    grey = grey * breast + 0.01
    if lesion is not None and specks:
        dots = np.clip(2.5 * (cloud(rng, shape, max(height, width) // 3) - 0.9), 0, 1)
        grey += faded(lesion) * dots * (0.95 - grey)
    elif lesion is not None:
        grey += faded(lesion) * (0.85 + 0.04 * cloud(rng, shape, 20) - grey)
    grey += rng.normal(0, 0.012, shape) * (breast > 0)
    grey[marker(height, width)] = 0.97
    return to_display(grey, maximum)


MUSCLE = (0.36, 0.43)
"""Where the border of the pectoral muscle meets the upper edge and the chest wall, as shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptors:
    """BI-RADS ultrasound descriptors of a lesion.

    Attributes:
        echo: as dark as fluid (``anechoic``), ``hypoechoic``, as fat (``isoechoic``), bright
            (``hyperechoic``), ``heterogeneous``, or ``complex cystic/solid``.
        behind: ``no``, ``shadowing``, ``enhancement``, or ``combined`` of both.
        halo: a bright rim around it.
        calcification: bright specks: ``no``, ``in a mass``, in a duct beside it (``intraductal``),
            or ``indefinable``, which lie across its border.
        thick_skin: the skin above it is thickened.
    """

    echo: str = "hypoechoic"
    behind: str = "no"
    halo: bool = False
    calcification: str = "no"
    thick_skin: bool = False


def breast_ultrasound(
    height: int,
    width: int,
    *,
    seed: int,
    lesion: Mask | None = None,
    shadow: bool = False,
    descriptors: Descriptors | None = None,
) -> NDArray[np.uint8]:
    """Return an 8-bit linear-probe image of skin, fat, gland, muscle and rib.

    Args:
        height: rows.
        width: columns.
        seed: decides the breast and the speckle.
        lesion: where it is hypoechoic.
        shadow: it is dark behind the lesion and not bright.
        descriptors: in place of a hypoechoic lesion with or without a shadow.
    """
    rng = np.random.default_rng((seed, 52))
    y, x = places(height, width)
    shape = (height, width)
    depth = y + 0.03 * cloud(rng, shape, 3) * (y > 0.08)
    fat, gland = 0.27 + 0.06 * rng.random(), 0.62 + 0.06 * rng.random()
    echo = 0.24 + 0.06 * cloud(rng, shape, 8)
    strands = np.clip(1 - np.abs(cloud(rng, shape, 9)) / 0.16, 0, 1)
    echo += 0.13 * strands * (depth < fat)  # Cooper's ligaments
    echo += soft(np.abs(depth - (fat + gland) / 2) / ((gland - fat) / 2), 0.12) * (
        0.52 + 0.1 * cloud(rng, shape, 14) - echo
    )
    stripes = 0.3 + 0.07 * np.sin(2 * np.pi * (depth + 0.03 * x) / 0.035)
    echo += soft(np.abs(depth - 0.76) / 0.09, 0.15) * (stripes - echo)
    echo = np.maximum(echo, 0.55 * soft(np.abs(depth - 0.86) / 0.02, 1.2))
    echo = np.maximum(echo, 0.44 * soft(np.abs(y - 0.02) / 0.03, 0.8))
    echo *= np.where(depth > 0.88, 0.35, 1.0)
    if lesion is not None and lesion.any() and descriptors:
        echo = _described(echo, lesion, descriptors, np.random.default_rng((seed, 55)))
    elif lesion is not None and lesion.any():
        rows, columns = np.nonzero(lesion)
        behind = soft(np.abs(x - columns.mean() / width) / (0.42 * np.ptp(columns) / width), 0.3)
        behind = behind * (y > rows.mean() / height)
        echo = echo * (1 + behind * (-0.65 if shadow else 0.5))
        echo = np.where(lesion, 0.1 + 0.03 * cloud(rng, shape, 16), echo)
    grain = speckle(rng, shape)
    grey = echo * (0.79 + 0.21 * grain) * (1.1 - 0.3 * y)
    return to_display(grey, 255).astype(np.uint8)


def _described(
    echo: Floats, lesion: Mask, descriptors: Descriptors, rng: np.random.Generator
) -> Floats:
    """The echoes of a breast with one lesion and its descriptors."""
    shape = lesion.shape
    y, x = places(*shape)
    rows, columns = np.nonzero(lesion)
    row, column = (rows.mean() + 0.5) / shape[0], (columns.mean() + 0.5) / shape[1]
    tall, wide = (np.ptp(rows) + 1) / 2 / shape[0], (np.ptp(columns) + 1) / 2 / shape[1]
    edge = radius(y, x, (row, column, tall, wide))
    if descriptors.thick_skin:
        skin = soft(np.abs(y - 0.055) / 0.055, 0.25)
        echo = echo + skin * (0.62 + 0.05 * cloud(rng, shape, 10) - echo)
    deep = soft(np.abs(x - column) / (0.8 * wide), 0.3) * (y > row)
    gains = {"no": (0.0, 0.0), "shadowing": (-0.75, -0.75), "enhancement": (0.75, 0.75)}
    left, right = gains.get(descriptors.behind, (-0.75, 0.75))
    echo = echo * (1 + deep * np.where(x < column, left, right))
    if descriptors.halo:
        echo = np.maximum(echo, 0.85 * soft(np.abs(edge - 1.14) / 0.14, 0.5))
    coarse, fine = cloud(rng, shape, 9), cloud(rng, shape, 16)
    inside = {
        "anechoic": 0.0 * fine,
        "isoechoic": 0.26 + 0.03 * fine,
        "hyperechoic": 0.75 + 0.05 * fine,
        "heterogeneous": np.clip(0.25 + 0.2 * coarse + 0.12 * fine, 0.03, 0.7),
        "complex cystic/solid": np.where(x + 0.4 * y < column + 0.4 * row, 0.0, 0.3 + 0.05 * fine),
    }.get(descriptors.echo, 0.1 + 0.03 * fine)
    echo = np.where(lesion, inside, echo)
    # An isoechoic lesion shows by its border alone.
    echo = np.where(lesion & (edge > 0.9), np.minimum(echo, 0.12), echo)
    return np.maximum(echo, 0.95 * _specks(y, x, (row, column, tall, wide), descriptors, rng))


def _specks(
    y: Floats, x: Floats, mass: Ellipse, descriptors: Descriptors, rng: np.random.Generator
) -> Floats:
    """Draw calcifications: within a mass, in a row next to it, or across its border."""
    row, column, tall, wide = mass
    spots = []
    for number in range(7 if descriptors.calcification != "no" else 0):
        angle, share = 2 * np.pi * number / 7, 0.25 + 0.4 * rng.random()
        if descriptors.calcification == "intraductal":
            spots.append((row - 0.02 + 0.01 * (number % 2), column + wide * (1.2 + 0.2 * number)))
            continue
        share += 0.4 * (descriptors.calcification == "indefinable")
        spots.append((row + share * tall * np.sin(angle), column + share * wide * np.cos(angle)))
    pixels = np.zeros(np.broadcast_shapes(y.shape, x.shape))
    for at_row, at_column in spots:
        pixels = np.maximum(pixels, soft(radius(y, x, (at_row, at_column, 0.012, 0.01)), 0.8))
    return pixels


def breast_mr(
    side: int, *, seed: int, maximum: int, sequence: str, lesion: Mask | None = None
) -> NDArray[np.uint16]:
    """Return an axial slice through both breasts and the chest, front up, 0 to ``maximum``.

    Args:
        side: rows and columns.
        seed: decides the woman; every sequence of a seed shows the same one.
        maximum: largest value.
        sequence: ``T1`` with bright fat; otherwise fat is dark, and ``post`` brightens vessels.
        lesion: mask of contrast enhancement.
    """
    rng = np.random.default_rng((seed, 53))
    y, x = places(side, side)
    shape = (side, side)
    fat, tissue, blood = (0.85, 0.4, 0.3) if sequence == "T1" else (0.24, 0.46, 0.5)
    blood += 0.35 * sequence.startswith("post")
    breasts = np.min([_breast(y, x, at) for at in (-1, 1)], axis=0)
    chest = radius(y, x, (0.8, 0.5, 0.27, 0.46))
    body = np.minimum(breasts, np.abs(chest) ** 1.3)
    grey = fat * soft(body, 0.06)
    for at in (-1, 1):
        cone = soft(_breast(y + 0.02, x, at) / 0.68, 0.3)
        gland = cone * np.clip(0.55 + 0.4 * cloud(rng, shape, 12), 0, 1)
        grey += gland * (tissue - grey)
        lung = soft(radius(y, x, (0.84, 0.5 + 0.23 * at, 0.16, 0.15)), 0.1)
        grey += soft(np.abs(chest - 0.84) / 0.05, 0.5) * (y > 0.55) * 0.4 * (tissue - grey)
        grey += lung * (0.05 - grey)
    heart = soft(radius(y, x, (0.75, 0.55, 0.085, 0.11)), 0.15)
    grey += heart * (blood - grey)
    grey += soft(radius(y, x, (0.93, 0.58, 0.035, 0.035)), 0.3) * (blood - grey)
    grey += soft(radius(y, x, (0.95, 0.5, 0.05, 0.05)), 0.3) * (0.3 - grey)
    if lesion is not None:
        grey = np.where(lesion, 0.92 + 0.04 * cloud(rng, shape, 16), grey)
    grey += rng.normal(0, 0.02, shape) * (grey > 0.02)
    grey[marker(side, side)] = 0.97
    return to_display(grey, maximum)


def breast_lesion(side: int, *, seed: int) -> Mask:
    """Return an ellipse in a breast of ``breast_mr``, the patient's left for an odd seed."""
    rng = np.random.default_rng((seed, 54))
    at = 1 if seed % 2 else -1
    row, column = 0.34 + 0.12 * rng.random(), 0.5 + at * (0.2 + 0.06 * rng.random())
    tall = 0.045 + 0.03 * rng.random()
    y, x = places(side, side)
    return radius(y, x, (row, column, tall, 1.2 * tall)) < 1


def _breast(y: NDArray[np.float64], x: NDArray[np.float64], at: int) -> NDArray[np.float64]:
    """1 on the skin of a breast; ``at`` is -1 for the patient's right."""
    return radius(y, x, (0.52, 0.5 + 0.235 * at, 0.34, 0.215))
