"""Limits per patient: one question for each topic, and no more than a task allows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from medrcube.build.open_items.chance.blind_chance import unit_of
from medrcube.build.open_items.question import OpenQuestion

__all__ = ["Bundle", "few_of_each_patient", "one_of_each_patient"]

Bundle = tuple[OpenQuestion, ...]
"""A single question, or the two of a pair."""


def one_of_each_patient(bundles: Sequence[Bundle]) -> list[Bundle]:
    """Return the first bundle of each topic and patient.

    Args:
        bundles: in the order of a draw.
    """
    used_places: set[tuple[str, str]] = set()
    firsts = []
    for bundle in bundles:
        places = {(question.topic or question.concept, unit_of(question)) for question in bundle}
        if not places & used_places:
            used_places |= places
            firsts.append(bundle)
    return firsts


def few_of_each_patient(bundles: Sequence[Bundle], most: int | None) -> list[Bundle]:
    """Return at most ``most`` bundles of each patient, preferring the least used concepts.

    Args:
        bundles: in the order of a draw, of one task; each counts for the patient of its first
            question.
        most: for each patient; ``None`` for all.
    """
    if most is None:
        return list(bundles)
    patients: dict[str, list[Bundle]] = defaultdict(list)
    for bundle in bundles:
        patients[unit_of(bundle[0])].append(bundle)
    uses: Counter[str] = Counter()
    few = []
    for own in patients.values():
        for _ in range(min(most, len(own))):
            rarest = min(range(len(own)), key=lambda place: uses[own[place][0].concept])
            few.append(own.pop(rarest))
            uses[few[-1][0].concept] += 1
    return few
