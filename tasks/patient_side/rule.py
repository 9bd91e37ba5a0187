"""Rule of the task Patient Side: on which side of the patient a marked finding lies.

It is asked only if the patient's sides are proved by the file or stated in the card, and about
findings that lie entirely on one side. An image of each side forms a set, so that neither side is a
better guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from medrcube.build.open_items.marked_places import MarkedPlace, marked_places
from medrcube.build.open_items.question import CaseView, OpenQuestion
from medrcube.forms.option import OptionTarget

LEAST_FROM_MIDLINE = {"body": 0.08, "picture": 0.15}
"""Minimum distance of the centroid from the midline, as a share of the width, by midline type."""
SIDES = ("left", "right")
_NAMES_A_SIDE = re.compile(r"\b(left|right)\b", re.IGNORECASE)


class Rule:
    """Asks for the side of every marked finding on an image whose sides are known."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Yield one question per finding on a clean image."""
        for place in marked_places(view):
            row = place.rows[0]
            bar_reason = place.bar_reason or _bar(view, place)
            role = row.side or SIDES[0]
            yield OpenQuestion(
                task=view.task,
                sample=place.sample,
                field=place.field.name,
                concept=place.concept,
                target=OptionTarget(
                    options=tuple(
                        (letter, f"The patient's {side} side")
                        for letter, side in zip("AB", SIDES, strict=True)
                    ),
                    key="AB"[SIDES.index(role)],
                ),
                values={"right_at": row.right_at},
                prior=(place.sample.source, place.concept, row.view),
                stratum=(place.sample.source, place.field.name, row.view, row.right_at),
                role=role,
                lot=role,
                grade=place.grade,
                visible=place.visible,
                bar_reason=bar_reason,
            )


def _bar(view: CaseView, place: MarkedPlace) -> str:
    if any(not row.right_at for row in place.rows):
        return "sides-unknown"
    if _NAMES_A_SIDE.search(view.terms[place.concept].name):
        return "named-side"
    sides = {row.whole_side for row in place.rows}
    if sides not in ({"left"}, {"right"}):
        return "both-sides"
    near = (row.from_midline < LEAST_FROM_MIDLINE[row.midline_from] for row in place.rows)
    return "near-midline" if any(near) else ""


rule = Rule()
