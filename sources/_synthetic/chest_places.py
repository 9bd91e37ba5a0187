"""Masks of the locations of findings on a synthetic chest radiograph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from medrcube.sources._synthetic.chest_film import lung_lesion
from medrcube.sources._synthetic.chest_person import Person, clavicle_line, heart_edge, lung_edge
from medrcube.sources._synthetic.shapes import Ellipse, Floats, Mask, line_distance, radius

__all__ = [
    "Sketch",
    "aortic_knob",
    "apex",
    "apices",
    "bases",
    "beside_heart",
    "both_lungs",
    "collar_bone",
    "costophrenic_angle",
    "ellipse_around",
    "enlarged_heart",
    "fallen_lung",
    "free_lung",
    "generator",
    "hilum",
    "lesion",
    "mediastinum",
    "nodule",
    "oval",
    "perihilar",
    "plate",
    "pleural_cleft",
    "pleural_rind",
    "rib",
    "right_dome",
    "spine",
    "stomach",
    "tube",
]


@dataclass(frozen=True, slots=True)
class Sketch:
    """A pixel grid and a person, with the variant of the location to draw."""

    y: Floats
    x: Floats
    person: Person
    seed: int
    which: int

    @property
    def side(self) -> int:
        """-1 for the patient's right, 1 for the left."""
        return 1 if self.which % 2 else -1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.y.shape[0], self.x.shape[1]


def lesion(at: Sketch) -> Mask:
    return lung_lesion(*at.shape, seed=at.seed, which=at.which)


def nodule(at: Sketch) -> Mask:
    """Return the central part of the area of a lesion."""
    row, column, tall, wide = ellipse_around(lesion(at))
    return radius(at.y, at.x, (row, column, 0.55 * tall, 0.6 * wide)) < 1


def enlarged_heart(at: Sketch) -> Mask:
    return heart_edge(at.y, at.x, at.person) < 1


def aortic_knob(at: Sketch) -> Mask:
    return radius(at.y, at.x, (0.315, at.person.middle + 0.075, 0.08, 0.085)) < 1


def hilum(at: Sketch) -> Mask:
    return radius(at.y, at.x, (0.44, at.person.middle + 0.105 * at.side, 0.06, 0.06)) < 1


def perihilar(at: Sketch) -> Mask:
    wings = [free_lung(at, side) * oval(at, side, (0.49, 0.17, 0.19, 0.11)) for side in (-1, 1)]
    return np.asarray(wings[0] | wings[1])


def bases(at: Sketch) -> Mask:
    floor = at.person.base - 0.06
    zones = [free_lung(at, side) & oval(at, side, (floor, 0.25, 0.15, 0.14)) for side in (-1, 1)]
    return np.asarray(zones[0] | zones[1])


def apex(at: Sketch) -> Mask:
    return free_lung(at, at.side) & oval(at, at.side, (at.person.top + 0.13, 0.17, 0.1, 0.09))


def apices(at: Sketch) -> Mask:
    both = [apex(replace(at, which=which)) for which in (0, 1)]
    return both[0] | both[1]


def pleural_cleft(at: Sketch) -> Mask:
    """Return the apical space between the chest wall and a collapsed lung."""
    within = lung_edge(at.y, at.x, at.person, at.side) < 0.97
    return np.asarray(within & (fallen_lung(at) >= 1) & (at.y < at.person.top + 0.34))


def fallen_lung(at: Sketch) -> Floats:
    """Return a field that is below 1 inside a collapsed lung, and 1 on its edge."""
    return lung_edge(at.y - 0.075, at.x + 0.045 * at.side, at.person, at.side)


def costophrenic_angle(at: Sketch, depth: float = 0.2) -> Mask:
    """Return the area of an effusion: above the diaphragm, rising along the chest wall."""
    person, side = at.person, at.side
    away = side * (at.x - person.middle) / person.girth
    out = np.clip((away - 0.08) / 0.26, 0, 1)
    centre = 0.215 + 0.03
    floor = person.base + (0.02 if side > 0 else 0.0) + 1.9 * (person.girth * (away - centre)) ** 2
    level = person.base + 0.02 - depth * out**2
    return np.asarray(
        (away > 0.08) & (away < 0.37) & (at.y > level) & (at.y < floor) & beside_heart(at)
    )


def beside_heart(at: Sketch) -> Mask:
    return np.asarray(heart_edge(at.y, at.x, at.person) >= 1)


def pleural_rind(at: Sketch) -> Mask:
    """Return a strip along the inside of the chest wall."""
    edge = lung_edge(at.y, at.x, at.person, at.side)
    out = at.side * (at.x - at.person.middle) > 0.2 * at.person.girth
    return np.asarray((edge > 0.82) & (edge < 1.0) & out & (at.y < 0.58) & (at.y > 0.2))


def plate(at: Sketch) -> Mask:
    """Return an oblique band above the diaphragm."""
    row, middle, side = at.person.base - 0.13, at.person.middle, at.side
    ends = [(row + 0.03, middle + 0.13 * side), (row - 0.02, middle + 0.33 * side)]
    return np.asarray((line_distance(at.y, at.x, ends) < 0.022) & free_lung(at, side))


def rib(at: Sketch) -> Mask:
    """Return a spot on a posterior rib, using the rib curve of ``chest_film``."""
    person = at.person
    gap = 0.068 + 0.006 * person.ribs
    start = person.top + 0.035 + gap * (4 + person.ribs / 3)
    t = 0.66
    row = start + 0.035 * t - 0.075 * np.sin(np.pi * t) + 0.13 * t**3
    column = person.middle + at.side * person.girth * t * 0.36
    return radius(at.y, at.x, (row, column, 0.05, 0.05)) < 1


def collar_bone(at: Sketch) -> Mask:
    row, column = at.person.top + 0.06, at.person.middle + at.side * at.person.girth * 0.19
    near = clavicle_line(at.y, at.x, at.person, at.side) < 0.05
    return np.asarray((radius(at.y, at.x, (row, column, 0.06, 0.05)) < 1) & near)


def mediastinum(at: Sketch) -> Mask:
    shifted = at.person.middle + at.person.shift
    band = (np.abs(at.x - shifted) < 0.07) & (at.y > 0.1) & (at.y < at.person.base)
    return np.asarray(band | enlarged_heart(at))


def stomach(at: Sketch) -> Mask:
    """Return an area behind the heart, above the diaphragm."""
    place = (at.person.base - 0.075, at.person.middle + 0.03, 0.065, 0.075)
    return radius(at.y, at.x, place) < 1


def spine(at: Sketch) -> Mask:
    wide = np.abs(at.x - at.person.middle) < abs(at.person.bend) + 0.04
    return np.asarray(wide & (at.y > 0.1))


def right_dome(at: Sketch) -> Mask:
    row = at.person.base - at.person.raised
    return radius(at.y, at.x, (row, at.person.middle - 0.22, 0.08, 0.17)) < 1


def both_lungs(at: Sketch) -> Mask:
    return np.asarray(free_lung(at, -1) | free_lung(at, 1))


def generator(at: Sketch) -> Mask:
    """Return the area of a pulse generator below the left clavicle."""
    place = (0.27, at.person.middle + 0.3, 0.055, 0.06)
    return radius(at.y, at.x, place) < 1


def tube(points: Iterable[tuple[float, float]], at: Sketch) -> Mask:
    line = [(row, at.person.middle + column) for row, column in points]
    return np.asarray(line_distance(at.y, at.x, line) < 0.011)


def free_lung(at: Sketch, side: int) -> Mask:
    return np.asarray((lung_edge(at.y, at.x, at.person, side) < 0.98) & beside_heart(at))


def oval(at: Sketch, side: int, place: Ellipse) -> Mask:
    row, away, tall, wide = place
    column = at.person.middle + side * away * at.person.girth
    return radius(at.y, at.x, (row, column, tall, wide)) < 1


def ellipse_around(area: Mask) -> Ellipse:
    """Return the ellipse inscribed in the bounding box of an area."""
    ends = []
    for indices, side in zip(np.nonzero(area), area.shape, strict=True):
        first, last = float(indices.min()), float(indices.max()) + 1
        ends.append(((first + last) / 2 / side, (last - first) / 2 / side))
    (row, tall), (column, wide) = ends
    return row, column, tall, wide
