"""Contrast: what else an image shows on which a finding is denied.

If that image is normal, the question about an edema reduces to "is anything wrong?". If it shows
another finding, the model has to recognise the edema. A normal image is therefore paired with the
finding only if the source has no other image that denies it.
"""

from __future__ import annotations

from collections.abc import Iterable

from medrcube.build.open_items.question import OpenQuestion

__all__ = ["ANOTHER", "CONTRASTS", "NORMAL", "UNSTATED", "with_most_contrast"]

ANOTHER = "another"
"""Another finding or disease is stated to be present."""

UNSTATED = "unstated"
"""Nothing else is stated: neither another finding nor that there is none."""

NORMAL = "normal"
"""The image is stated to show no finding of the kind at all."""

CONTRASTS = (ANOTHER, UNSTATED, NORMAL)
"""Contrasts in order of preference."""


def with_most_contrast(questions: Iterable[OpenQuestion]) -> list[OpenQuestion]:
    """Drop questions with a worse contrast than the best of their concept; the order is kept.

    Concepts are counted separately for each source; questions that state no contrast are all kept.
    """
    questions = list(questions)
    best: dict[tuple[str, str], int] = {}
    for question in questions:
        if question.contrast:
            concept, rank = _concept(question), _rank(question)
            best[concept] = min(rank, best.get(concept, rank))
    return [
        question
        for question in questions
        if not question.contrast or _rank(question) == best[_concept(question)]
    ]


def _concept(question: OpenQuestion) -> tuple[str, str]:
    return question.sample.source, question.concept


def _rank(question: OpenQuestion) -> int:
    return CONTRASTS.index(question.contrast)
