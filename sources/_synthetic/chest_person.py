"""Body proportions for synthetic chest radiographs, and the organ outlines derived from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medrcube.sources._synthetic.shapes import Ellipse, Floats, line_distance, radius

__all__ = ["Person", "clavicle_line", "heart_edge", "lung_edge", "person_of"]


@dataclass(frozen=True, slots=True)
class Person:
    """Proportions of one patient, as fractions of the image size.

    Attributes:
        middle: column of the spine.
        girth: width of the chest.
        top: row of the apices.
        base: row of the diaphragm.
        heart: relative heart width, about 1; above 1.5 it exceeds half of the chest width.
        ribs: offset of the first rib, 0 to 1.
        exposure: relative exposure, about 1.
        shift: horizontal displacement of heart and trachea.
        bend: horizontal deviation of the spine.
        raised: elevation of the right hemidiaphragm.
    """

    middle: float
    girth: float
    top: float
    base: float
    heart: float
    ribs: float
    exposure: float
    shift: float = 0.0
    bend: float = 0.0
    raised: float = 0.0


def person_of(seed: int) -> Person:
    """Return a healthy person with random proportions."""
    rng = np.random.default_rng((seed, 14))
    low_high = (
        (0.47, 0.53),
        (0.88, 1.02),
        (0.09, 0.16),
        (0.68, 0.81),
        (0.8, 1.25),
        (0.0, 1.0),
        (0.75, 1.25),
    )
    return Person(*(low + (high - low) * float(rng.random()) for low, high in low_high))


def lung_edge(y: Floats, x: Floats, person: Person, side: int) -> Floats:
    """Return a field that is below 1 inside a lung, and 1 on its edge.

    The lung is upright, leans inward at the top and is cut off by the diaphragm.
    """
    row = (person.top + person.base + 0.12) / 2
    down = (y - row) / ((person.base + 0.12 - person.top) / 2)
    centre = person.middle + side * person.girth * (0.215 + 0.035 * down)
    wide = person.girth * (0.155 + 0.02 * down)
    sides = np.hypot(np.abs(down) ** 1.35, np.abs((x - centre) / wide) ** 1.25)
    lift = 0.02 if side > 0 else -person.raised  # the right dome is higher
    floor = person.base + lift - 0.02 + 1.9 * (x - centre) ** 2
    return np.maximum(sides, 1 + (y - floor) / 0.35)


def heart_edge(y: Floats, x: Floats, person: Person) -> Floats:
    """Return a field that is below 1 inside the heart, and 1 on its edge."""
    size = person.heart
    column = person.middle + 0.055 + person.shift
    place: Ellipse = (person.base - 0.13, column, 0.15, 0.135 * size)
    return radius(y, x, place, tilt=0.35)


def clavicle_line(y: Floats, x: Floats, person: Person, side: int) -> Floats:
    """Return the distance from the centre line of a clavicle; ``side`` is -1 for the right one."""
    top = person.top + 0.075
    points = ((top + 0.02, 0.035), (top - 0.005, 0.14), (top - 0.03, 0.24), (top - 0.025, 0.33))
    line = [(row, person.middle + side * person.girth * away) for row, away in points]
    return line_distance(y, x, line)
