"""Synthetic heads in MR and CT, seen from below, face up: skull, gyri, ventricles.

A slice is a mixture of tissues ``(tissue, rows, columns)``; a sequence assigns a grey to each.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.shapes import (
    Floats,
    Mask,
    cloud,
    marker,
    places,
    radius,
    soft,
    to_display,
)

__all__ = ["BLEEDS", "GREYS", "Sequence", "brain_mr", "head_ct", "head_volume", "skull_outline"]

Sequence = Literal["t1", "t1ce", "t2", "pd", "flair", "dwi", "adc", "mra"]
GREYS: Mapping[Sequence, tuple[float, ...]] = {
    "t1": (0.85, 0.1, 0.14, 0.46, 0.66),
    "t1ce": (0.85, 0.1, 0.14, 0.44, 0.6),
    "t2": (0.55, 0.06, 0.95, 0.56, 0.4),
    "pd": (0.6, 0.08, 0.62, 0.74, 0.6),
    "flair": (0.45, 0.06, 0.1, 0.56, 0.45),
    "dwi": (0.08, 0.03, 0.12, 0.46, 0.4),
    "adc": (0.05, 0.03, 0.85, 0.27, 0.24),
    "mra": (0.3, 0.04, 0.1, 0.26, 0.24),
}
"""Grey of scalp, bone, fluid, grey and white matter in each MR sequence."""
BLEEDS = ("epidural", "intraparenchymal", "intraventricular", "subarachnoid", "subdural")
"""Kinds of haemorrhage that ``head_ct`` can draw."""

_HOUNSFIELD = (-20.0, 900.0, 6.0, 38.0, 30.0)
_BLOOD, _AIR_HU, _MARKER_HU = 68.0, -1000.0, 300.0
_BRAIN = 0.83
"""Edge of the brain in half axes of the head."""
_STRIPPED = 0.79
"""Share of the sides of an image that is shown without the skull."""
_LEVELS = 5


def brain_mr(
    height: int,
    width: int,
    *,
    seed: int,
    sequence: Sequence = "t1ce",
    maximum: int = 255,
    level: float = 0.1,
    lesion: Mask | None = None,
    grey: float = 0.92,
) -> NDArray[np.uint16]:
    """Return an MR slice ``(height, width)``, 0 to ``maximum``.

    Args:
        height: rows.
        width: columns.
        seed: decides the person and the noise.
        sequence: key of ``GREYS``.
        maximum: largest value.
        level: from -1 at the base to 1 at the vertex.
        lesion: where there is something of the grey ``grey``.
        grey: 0 to 1.
    """
    rng = np.random.default_rng((seed, 21))
    pixels = _mixed(_tissue(height, width, seed, level), sequence, rng)
    if lesion is not None:
        inside = grey + 0.05 * cloud(rng, (height, width), 20)
        pixels = np.where(lesion, inside, pixels)
    pixels += rng.normal(0, 0.02, pixels.shape) * (pixels > 0.02)
    pixels[marker(height, width)] = 0.97
    return to_display(pixels, maximum)


def head_volume(
    shape: tuple[int, int, int],
    *,
    seed: int,
    sequence: Sequence,
    maximum: int,
    parts: NDArray[np.uint8] | None = None,
    greys: Mapping[int, float] | None = None,
    stripped: bool = False,
) -> NDArray[np.int16]:
    """Return a head ``(slices, rows, columns)`` from below the ventricles to the vertex.

    Args:
        shape: of the volume; every second slice repeats the anatomy of the one below.
        seed: decides the person; every sequence of a seed shows the same one.
        sequence: key of ``GREYS``.
        maximum: largest value.
        parts: labels of what lies in the brain, as ``shape``.
        greys: grey of each label.
        stripped: without scalp, skull and marker.
    """
    count, height, width = shape
    rng = np.random.default_rng((seed, list(GREYS).index(sequence), 22))
    tissue = _tissues(shape, seed, _STRIPPED if stripped else 1.0)
    weights = np.array(GREYS[sequence], np.float32)
    weights[:2] *= not stripped
    volume = np.tensordot(weights, tissue, 1)
    volume = np.repeat(volume, 2, axis=0)[:count]
    volume *= _bias(height, width, rng).astype(np.float32)
    if sequence == "mra" and not stripped:
        volume = np.maximum(volume, _arteries(count, height, width))
    if parts is not None:
        for label, grey in (greys or {}).items():
            volume[parts == label] = grey
    noise = rng.standard_normal(shape, np.float32)
    noise *= 0.02
    noise *= volume > 0.02
    volume += noise
    if not stripped:
        volume[:, marker(height, width)] = 0.97
    np.clip(volume, 0, 1, out=volume)
    volume *= maximum
    return volume.astype(np.int16)


def head_ct(
    height: int,
    width: int,
    *,
    seed: int,
    level: float = 0.1,
    bleeds: frozenset[str] = frozenset(),
    fracture: bool = False,
) -> NDArray[np.int64]:
    """Return a CT slice in Hounsfield units.

    Args:
        height: rows.
        width: columns.
        seed: decides the person and the noise.
        level: from -1 at the base to 1 at the vertex.
        bleeds: members of ``BLEEDS`` to draw, each at its own location.
        fracture: whether to draw a lateral skull fracture with a depressed fragment.
    """
    rng = np.random.default_rng((seed, 23))
    y, x = places(height, width)
    tissue = _tissue(height, width, seed, level)
    units = _AIR_HU + np.tensordot(np.array(_HOUNSFIELD) - _AIR_HU, tissue, 1)
    units += rng.normal(0, 3, units.shape) * (units > -500)
    for kind in sorted(bleeds):
        blood = _blood((y, x), kind, seed, level, tissue[2])
        units += blood * (_BLOOD + rng.normal(0, 2, units.shape) - units)
    if fracture:
        units = _fractured(units, y, x, seed, level)
    units[marker(height, width)] = _MARKER_HU
    return np.rint(units).astype(np.int64)


def _fractured(units: Floats, y: Floats, x: Floats, seed: int, level: float) -> Floats:
    """Draw a depressed skull fragment, separated by gaps from the bone on both sides."""
    side = 1 if seed % 2 else -1
    head = skull_outline(y, x, seed, level)
    across = (y - 0.42 - 0.35 * (head - 0.91)) / 0.06
    lateral = side * (x - 0.5) > 0.1
    units = np.where((head > 0.865) & (head < 0.95) & (np.abs(across) < 1) & lateral, 45.0, units)
    fragment = (np.abs(head - 0.865) < 0.032) & (np.abs(across) < 0.75) & lateral
    return np.where(fragment, 900.0, units)


def skull_outline(y: Floats, x: Floats, seed: int, level: float) -> Floats:
    """1 on the skin at a level from -1 to 1, less within."""
    rng = np.random.default_rng((seed, 24))
    long, wide, narrow = 0.43 + 0.04 * rng.random(), 0.385 + 0.035 * rng.random(), rng.random()
    scale = np.sqrt(max(1 - (0.92 * level) ** 2, 0.05))
    # The forehead is narrower than the back of the head.
    pear = 1 + (0.06 + 0.1 * narrow) * (y - 0.5)
    return radius(y, 0.5 + (x - 0.5) / pear, (0.51, 0.5, long * scale, wide * scale))


def _mixed(tissue: Floats, sequence: Sequence, rng: np.random.Generator) -> Floats:
    mixed: Floats = np.tensordot(np.array(GREYS[sequence]), tissue, 1)
    mixed *= _bias(mixed.shape[0], mixed.shape[1], rng)
    return mixed


def _bias(height: int, width: int, rng: np.random.Generator) -> Floats:
    """Return a bias field (uneven coil sensitivity)."""
    return 1 + 0.07 * cloud(rng, (height, width), 2)


@functools.lru_cache(maxsize=2)
def _tissues(shape: tuple[int, int, int], seed: int, view: float) -> NDArray[np.float32]:
    """Tissue of every second slice, ``(tissue, half the slices, rows, columns)``.

    ``view`` is the share of the image's sides that fills the volume, as without a skull.
    """
    count = -(-shape[0] // 2)
    levels = [-0.55 + 1.5 * k / max(count - 1, 1) for k in range(count)]
    slices = [_tissue(*shape[1:], seed, level, view).astype(np.float32) for level in levels]
    return np.stack(slices, axis=1)


def _tissue(height: int, width: int, seed: int, level: float, view: float = 1.0) -> Floats:
    """Shares of scalp, bone, fluid, grey and white matter, ``(5, height, width)``."""
    y, x = (0.5 + view * (place - 0.5) for place in places(height, width))
    edge = 3.0 / min(height, width)
    head = skull_outline(y, x, seed, level)
    folds = _folds(height, width, seed, level)
    outer = soft(head, edge)
    skull = soft(head / 0.94, edge)
    inner = soft(head / 0.875, edge)
    # Folds deepen the surface of the brain.
    brain = soft((head + 0.03 * np.clip(1 - 4 * folds, 0, 1)) / _BRAIN, 1.5 * edge)
    outward = np.clip((head - 0.42) / 0.25, 0, 1)
    furrow = soft(folds / 0.12, 1.0) * outward
    cleft = soft(np.abs(x - 0.5 - 0.004 * np.sin(20 * y)) / 0.008, 0.8)
    cleft *= (np.abs(y - 0.5) > 0.13) | (level > 0.5)
    fluid = np.maximum(np.maximum(0.9 * furrow, cleft), _ventricles(y, x, seed, level))
    ribbon = np.clip(1.7 - folds / 0.35, 0, 1) * outward
    cortex = np.maximum(np.maximum(ribbon, soft((1.62 - head) / 0.86, 0.06)), _nuclei(y, x, level))
    grey = brain * (1 - fluid) * cortex
    white = brain * (1 - fluid) * (1 - cortex)
    return np.stack([outer - skull, skull - inner, inner - grey - white, grey, white])


def _folds(height: int, width: int, seed: int, level: float) -> Floats:
    """Return the distance from the sulci, about 0 to 2."""
    place = (level + 1) / 2 * _LEVELS
    below = min(int(place), _LEVELS - 1)
    share = place - below
    sheets = _sheets(height, width, seed)
    return np.abs((1 - share) * sheets[below] + share * sheets[below + 1])


@functools.lru_cache(maxsize=4)
def _sheets(height: int, width: int, seed: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng((seed, 25))
    return tuple(cloud(rng, (height, width), 17) for _ in range(_LEVELS + 1))


def _ventricles(y: Floats, x: Floats, seed: int, level: float) -> Floats:
    rng = np.random.default_rng((seed, 26))
    size = (0.75 + 0.6 * rng.random()) * np.clip(1.2 - 2.4 * abs(level - 0.15), 0, 1)
    if size <= 0:
        return np.zeros(np.broadcast_shapes(y.shape, x.shape))
    horns = [radius(y, x, (0.52, 0.5, 0.05, 0.007 * size))]
    for side in (-1, 1):
        large = size * (1.15 if side > 0 else 0.95)
        front = (0.405, 0.5 + 0.035 * side, 0.085 * large, 0.022 * large)
        back = (0.625, 0.5 + 0.085 * side, 0.08 * large, 0.022 * large)
        horns += [radius(y, x, front, tilt=-0.25 * side), radius(y, x, back, tilt=0.45 * side)]
    return soft(np.min(horns, axis=0), 0.3)


def _nuclei(y: Floats, x: Floats, level: float) -> Floats:
    if abs(level - 0.05) > 0.3:
        return np.zeros(np.broadcast_shapes(y.shape, x.shape))
    deep = []
    for side in (-1, 1):
        deep += [
            radius(y, x, (0.535, 0.5 + 0.05 * side, 0.05, 0.032)),
            radius(y, x, (0.47, 0.5 + 0.115 * side, 0.075, 0.022), tilt=0.3 * side),
        ]
    return soft(np.min(deep, axis=0), 0.2)


def _arteries(count: int, height: int, width: int) -> NDArray[np.float32]:
    """Bright vessels of the base, which rise and part."""
    y, x = places(height, width)
    volume = np.zeros((count, height, width), np.float32)
    for k in range(count):
        up = k / count
        spots = [(0.56 - 0.1 * up, 0.5)]
        for side in (-1, 1):
            spots += [
                (0.47 - 0.06 * up, 0.5 + side * (0.07 + 0.24 * up)),
                (0.36 - 0.12 * up, 0.5 + side * 0.012),
                (0.62 + 0.12 * up, 0.5 + side * (0.05 + 0.1 * up)),
            ]
        near = np.min([np.hypot(y - row, x - column) for row, column in spots], axis=0)
        volume[k] = soft(near / (0.016 * (1.1 - up)), 0.8)
    return volume


def _blood(yx: tuple[Floats, Floats], kind: str, seed: int, level: float, fluid: Floats) -> Floats:
    """Share of each pixel that is blood of one of ``BLEEDS``, on the patient's left or right."""
    y, x = yx
    side = 1 if seed % 2 else -1
    head = skull_outline(y, x, seed, level)
    lateral = np.clip(side * (x - 0.5) / 0.05, 0, 1)
    if kind == "epidural":
        lens = radius(y, x, (0.45, 0.5 + 0.37 * side, 0.15, 0.11))
        return soft(lens, 0.1) * soft(head / 0.87, 0.04)
    if kind == "subdural":
        crescent = soft(np.abs(head - 0.81) / 0.06, 0.3) * soft(np.abs(y - 0.5) / 0.27, 0.2)
        return crescent * lateral
    if kind == "subarachnoid":
        return np.clip(1.3 * fluid, 0, 1) * lateral * soft(head / 0.86, 0.04) * (head > 0.4)
    if kind == "intraventricular":
        return _ventricles(y, x, seed, 0.15) * (y > 0.4)
    return soft(radius(y, x, (0.47, 0.5 + 0.14 * side, 0.085, 0.06), tilt=0.2), 0.15)
