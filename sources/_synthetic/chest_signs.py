"""Appearance and location of findings on synthetic chest films, by concept id.

A concept that is not in ``SIGNS`` is not drawn. Focal findings are drawn only within their area, so
that the bounding box of the area bounds them; an enlarged heart is a different person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic import chest_places, chest_strokes
from medrcube.sources._synthetic.chest_film import chest_film, lateral_film
from medrcube.sources._synthetic.chest_person import Person, person_of
from medrcube.sources._synthetic.chest_places import Sketch
from medrcube.sources._synthetic.shapes import Floats, Mask, cloud, places

__all__ = ["SIGNS", "Sign", "areas_of", "film_with", "sign_area"]


Place = Callable[[Sketch], Mask]
Stroke = Callable[[Floats, Mask, Floats, Sketch], Floats]
"""``(film, area, texture, sketch)`` -> the film with the sign."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Drawing instructions for a concept.

    Attributes:
        place: function that returns the area that a reader would outline.
        stroke: function that draws within it; none if the body itself differs.
        body: changes of the person.
        which: default location if a film does not specify one; even is the patient's right.
    """

    place: Place
    stroke: Stroke | None = None
    body: Callable[[Person], Person] | None = None
    which: int = 0


def sign_area(
    concept: str,
    height: int,
    width: int,
    *,
    seed: int,
    which: int | None = None,
    among: Iterable[str] = (),
) -> Mask:
    """Return the area ``(height, width)`` in which a concept of ``SIGNS`` is drawn.

    Args:
        concept: the concept.
        height: rows.
        width: columns.
        seed: seed of the person.
        which: one of several locations: even for the patient's right, odd for the left.
        among: concepts of the same film, which may alter the body.

    Raises:
        KeyError: the concept is not in ``SIGNS``.
    """
    sign = SIGNS[concept]
    person = _changed(person_of(seed), dict.fromkeys((*among, concept)))
    number = sign.which if which is None else which
    return np.asarray(sign.place(Sketch(*places(height, width), person, seed, number)))


def areas_of(
    concepts: Iterable[str], height: int, width: int, *, seed: int, which: int | None = None
) -> dict[str, Mask]:
    """Return the area of each concept that can be drawn; others are omitted."""
    signs = [concept for concept in dict.fromkeys(concepts) if concept in SIGNS]
    return {
        concept: sign_area(concept, height, width, seed=seed, which=which, among=signs)
        for concept in signs
    }


def film_with(
    areas: Mapping[str, Mask],
    height: int,
    width: int,
    *,
    seed: int,
    maximum: int = 255,
    lateral: bool = False,
) -> NDArray[np.uint16]:
    """Return a film with the signs of some concepts, each within its area.

    Args:
        areas: concept -> where, as of ``areas_of``; of one concept also of both sides.
        height: rows.
        width: columns.
        seed: decides the person, the texture and the noise.
        maximum: largest value.
        lateral: from the side, where only what is dense or the size of the heart shows.
    """
    person = _changed(person_of(seed), areas)
    y, x = places(height, width)

    def paint(grey: Floats) -> Floats:
        for concept, area in areas.items():
            sign = SIGNS[concept]
            hidden = lateral and sign.place is not chest_places.lesion
            if sign.stroke is None or hidden:
                continue
            code = int.from_bytes(concept.encode()[:4], "big")
            texture = cloud(np.random.default_rng((seed, code)), (height, width), 22)
            for which, part in _sides(area, person):
                grey = sign.stroke(grey, part, texture, Sketch(y, x, person, seed, which))
        return grey

    draw = lateral_film if lateral else chest_film
    return draw(height, width, seed=seed, maximum=maximum, person=person, paint=paint)


def _changed(person: Person, concepts: Iterable[str]) -> Person:
    for concept in concepts:
        sign = SIGNS.get(concept)
        if sign and sign.body:
            person = sign.body(person)
    return person


def _sides(area: Mask, person: Person) -> list[tuple[int, Mask]]:
    """Return the parts of an area, with 1 for the patient's left; two if they are separate."""
    columns = np.asarray(area.any(axis=0))
    left = np.asarray(np.arange(columns.size) + 0.5 > person.middle * columns.size)
    if columns[int(person.middle * columns.size)]:
        return [(int(left[columns].mean() > 0.5), area)]
    return [(which, area & (left == which)) for which in (0, 1) if (area & (left == which)).any()]


_METAL = partial(chest_strokes.solid, value=0.93)
_OPAQUE = Sign(chest_places.lesion, partial(chest_strokes.dense, strength=0.75, patchy=0.35))
_ROUND = Sign(chest_places.nodule, partial(chest_strokes.solid, value=0.74), which=1)
_MASS = Sign(chest_places.lesion, partial(chest_strokes.solid, value=0.74), which=2)
_EFFUSION = Sign(chest_places.costophrenic_angle, partial(chest_strokes.solid, value=0.76), which=1)
_PLATE = Sign(chest_places.plate, partial(chest_strokes.dense, strength=0.9), which=1)
_WIDE = Sign(chest_places.enlarged_heart, body=lambda person: replace(person, heart=1.65))
_EMPTY = Sign(
    chest_places.both_lungs,
    chest_strokes.emptied,
    body=lambda person: replace(person, base=person.base + 0.07),
)
_KNOB = Sign(chest_places.aortic_knob, partial(chest_strokes.solid, value=0.72))
_NET = Sign(chest_places.bases, chest_strokes.net)
_RIND = Sign(chest_places.pleural_rind, partial(chest_strokes.solid, value=0.74))
_RIB = Sign(chest_places.rib, chest_strokes.broken, which=1)
_HILUM = Sign(chest_places.hilum, partial(chest_strokes.solid, value=0.72), which=1)
_POUCH = Sign(chest_places.stomach, chest_strokes.fluid_level)
_LINE = partial(partial, chest_places.tube)

SIGNS: Mapping[str, Sign] = {
    "Cardiomegaly": _WIDE,
    "Enlarged Cardiomediastinum": _WIDE,
    "heart insufficiency": _WIDE,
    "Aortic enlargement": _KNOB,
    "aortic elongation": _KNOB,
    "aortic aneurysm": _KNOB,
    "Enlarged PA": _HILUM,
    "hilar enlargement": _HILUM,
    "pulmonary hypertension": _HILUM,
    "Mediastinal shift": Sign(
        chest_places.mediastinum, body=lambda person: replace(person, shift=0.07)
    ),
    "Lung Opacity": _OPAQUE,
    "Consolidation": Sign(
        chest_places.lesion, partial(chest_strokes.dense, strength=0.9, patchy=0.12)
    ),
    "Infiltration": Sign(
        chest_places.lesion, partial(chest_strokes.dense, strength=0.6, patchy=0.6)
    ),
    "Pneumonia": _OPAQUE,
    "alveolar pattern": _OPAQUE,
    "Edema": Sign(chest_places.perihilar, partial(chest_strokes.dense, strength=0.5, patchy=0.2)),
    "Nodule": _ROUND,
    "Nodule/Mass": _MASS,
    "Mass": _MASS,
    "Lung Lesion": _MASS,
    "Lung tumor": _MASS,
    "granuloma": _ROUND,
    "calcified granuloma": Sign(
        chest_places.nodule, partial(chest_strokes.solid, value=0.95), which=1
    ),
    "Calcification": Sign(chest_places.nodule, partial(chest_strokes.solid, value=0.95), which=3),
    "Lung cavity": Sign(chest_places.lesion, partial(chest_strokes.ring, wall=0.35)),
    "lung abscess": Sign(chest_places.lesion, partial(chest_strokes.ring, wall=0.35)),
    "Lung cyst": Sign(chest_places.lesion, partial(chest_strokes.ring, wall=0.15)),
    "Tuberculosis": Sign(chest_places.apex, partial(chest_strokes.ring, wall=0.4, around=0.8)),
    "ILD": _NET,
    "interstitial pattern": _NET,
    "reticular pattern": _NET,
    "Pulmonary fibrosis": _NET,
    "Fibrosis": _NET,
    "COPD": _EMPTY,
    "Emphysema": _EMPTY,
    "air trapping": _EMPTY,
    "Atelectasis": _PLATE,
    "laminar atelectasis": _PLATE,
    "Effusion": _EFFUSION,
    "Pleural Effusion": _EFFUSION,
    "costophrenic angle blunting": Sign(
        partial(chest_places.costophrenic_angle, depth=0.11),
        partial(chest_strokes.solid, value=0.76),
        which=1,
    ),
    "Pleural thickening": _RIND,
    "Pleural_Thickening": _RIND,
    "Pleural Other": _RIND,
    "apical pleural thickening": Sign(
        chest_places.apices, partial(chest_strokes.dense, strength=0.5, patchy=0.3)
    ),
    "Pneumothorax": Sign(chest_places.pleural_cleft, chest_strokes.air),
    "Rib fracture": _RIB,
    "Fracture": _RIB,
    "Clavicle fracture": Sign(chest_places.collar_bone, chest_strokes.broken, which=1),
    "scoliosis": Sign(chest_places.spine, body=lambda person: replace(person, bend=0.08)),
    "hemidiaphragm elevation": Sign(
        chest_places.right_dome, body=lambda person: replace(person, raised=0.11)
    ),
    "Hernia": _POUCH,
    "hiatal hernia": _POUCH,
    "pacemaker": Sign(chest_places.generator, _METAL),
    "Support Devices": Sign(chest_places.generator, _METAL),
    "endotracheal tube": Sign(_LINE([(0.0, 0.0), (0.28, 0.0)]), _METAL),
    "NSG tube": Sign(_LINE([(0.0, 0.012), (0.5, 0.01), (0.88, 0.06)]), _METAL),
    "central venous catheter": Sign(_LINE([(0.1, -0.1), (0.2, -0.05), (0.42, -0.045)]), _METAL),
}
"""Concept -> how it is drawn."""
