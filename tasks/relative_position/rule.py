"""Rule of the task Relative Position: which of two marked structures is further left on the image.

Each question is asked about an image and its mirror image, which form a set with opposite answers:
textbook anatomy answers one of them wrongly. Structures that surround each other, such as the
myocardium and its cavity, are on the same side of a third, so only one of them is asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import combinations
from typing import Any

from medrcube.build.open_items.marked_places import MarkedPlace, marked_places
from medrcube.build.open_items.question import CaseView, OpenQuestion
from medrcube.build.regions.side_by_side import LEAST_APART, Columns, is_left_of
from medrcube.build.stages.geometry_table import Geometry
from medrcube.build.stages.samples import Sample
from medrcube.forms.option import OptionTarget
from medrcube.ontologies.target_phrases import target_phrase

SIDES = ("left", "right")
_Pair = tuple[MarkedPlace, MarkedPlace]
_SIDE = re.compile(r"\b(left|right) ", re.IGNORECASE)


class Rule:
    """Asks about every two structures or findings side by side, also on the mirror image."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Yield two questions per pair of concepts on a clean image, or one barred question."""
        earlier_pairs: list[_Pair] = []
        for pair in _pairs(view):
            twins = list(_twins(view, *pair))
            if len(twins) == 2:
                reason = next(
                    filter(None, (_repeats(pair, earlier) for earlier in earlier_pairs)), ""
                )
                if reason:
                    yield replace(twins[0], bar_reason=reason)
                    continue
                earlier_pairs.append(pair)
            yield from twins


def _repeats(pair: _Pair, earlier: _Pair) -> str:
    """Return why a pair repeats an earlier one; empty if it does not."""
    if pair[0].sample != earlier[0].sample:
        return ""
    if pair[0].concept == earlier[0].concept:
        return "asked of another structure"
    same = any(
        all(_is_one_place(*places) for places in zip(pair, order, strict=True))
        for order in (earlier, earlier[::-1])
    )
    return "asked of what surrounds it" if same else ""


def _is_one_place(place: MarkedPlace, other: MarkedPlace) -> bool:
    """Whether two regions coincide: same, one contains the other's centroid, or equal centroids."""
    first, second = place.rows[0], other.rows[0]
    apart = math.dist((first.centroid_x, first.centroid_y), (second.centroid_x, second.centroid_y))
    return (
        place.concept == other.concept
        or apart < LEAST_APART * place.sample.width
        or _holds_middle(first, second)
        or _holds_middle(second, first)
    )


def _holds_middle(outer: Geometry, inner: Geometry) -> bool:
    """Whether the bounding box of a region contains the centroid of another."""
    across = outer.x0 <= inner.centroid_x < outer.x1
    return across and outer.y0 <= inner.centroid_y < outer.y1


def _pairs(view: CaseView) -> list[_Pair]:
    """Return all pairs of concepts on an image, in random order."""
    pairs = [
        _draw_order(view, first, second)
        for first, second in combinations(marked_places(view), 2)
        if first.sample == second.sample and not _is_part(view, first.concept, second.concept)
    ]
    return sorted(pairs, key=lambda pair: _lot(view, *(place.concept for place in pair)))


def _twins(view: CaseView, target: MarkedPlace, other: MarkedPlace) -> Iterator[OpenQuestion]:
    is_left = _is_left(target, other)
    mirrored = _mirror_image(view, target.sample)
    bar_reason = target.bar_reason or other.bar_reason or _bar(view, target, other)
    if not bar_reason and is_left is None:
        bar_reason = "not-side-by-side"
    if not bar_reason and mirrored is None:
        bar_reason = "no-mirror-image"
    question = _question(view, target, other, role=SIDES[not is_left], bar_reason=bar_reason)
    yield question
    if not bar_reason and mirrored is not None:
        yield replace(question, sample=mirrored, **_answer(SIDES[bool(is_left)]))


def _answer(role: str) -> dict[str, Any]:
    options = tuple(
        (letter, f"To the {side} in the image") for letter, side in zip("AB", SIDES, strict=True)
    )
    key = "AB"[SIDES.index(role)]
    return {"role": role, "lot": role, "target": OptionTarget(options=options, key=key)}


def _question(
    view: CaseView, target: MarkedPlace, other: MarkedPlace, *, role: str, bar_reason: str
) -> OpenQuestion:
    row, sample = target.rows[0], target.sample
    return OpenQuestion(
        task=view.task,
        sample=sample,
        field=target.field.name,
        concept=target.concept,
        values={"other": target_phrase(view.terms[other.concept])},
        prior=(sample.source, target.concept, other.concept, row.view),
        stratum=(sample.source, view.case.key, target.sample.id, target.concept, other.concept),
        grade=max(target.grade, other.grade),
        visible=min(target.visible, other.visible),
        bar_reason=bar_reason,
        **_answer(role),
    )


def _bar(view: CaseView, target: MarkedPlace, other: MarkedPlace) -> str:
    if len(target.rows) > 1 or len(other.rows) > 1:
        return "several-regions"
    # On a mirror image, the right one of paired structures looks like the left one.
    if any(_is_one_of_a_pair(view, place.concept) for place in (target, other)):
        return "named-side"
    return ""


def _is_left(target: MarkedPlace, other: MarkedPlace) -> bool | None:
    here, there = (
        Columns(centroid=row.centroid_x, first=row.x0, end=row.x1)
        for row in (target.rows[0], other.rows[0])
    )
    return is_left_of(here, there, target.sample.width)


def _mirror_image(view: CaseView, clean: Sample) -> Sample | None:
    return next(
        (
            sample
            for sample in view.samples
            if sample.artefact == "mirrored" and sample.frames == clean.frames
        ),
        None,
    )


def _draw_order(view: CaseView, *places: MarkedPlace) -> tuple[MarkedPlace, MarkedPlace]:
    """Draw at random which of two regions is asked about."""
    first, second = sorted(places, key=lambda place: _lot(view, place.concept))
    return first, second


def _lot(view: CaseView, *names: str) -> bytes:
    return sha256("/".join((view.card.id, view.case.key, *names)).encode()).digest()


def _is_part(view: CaseView, concept: str, other: str) -> bool:
    closure = view.relations.closure
    return other in closure(concept) or concept in closure(other)


def _is_one_of_a_pair(view: CaseView, concept: str) -> bool:
    """Whether a concept is one of paired structures, such as the left lung."""
    name = view.terms[concept].name
    either = _SIDE.sub("", name)
    wholes = view.relations.closure(concept)
    return either != name and any(view.terms[whole].name == either for whole in wholes)


rule = Rule()
