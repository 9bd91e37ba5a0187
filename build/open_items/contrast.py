"""Contrast: what an image shows of which something is denied, so that its name is asked.

Beside a normal image a question for an edema is answered by "is anything wrong?". Beside an image
with another finding it takes the edema. A normal image therefore stands beside the finding only
where the source has no other image that denies it.
"""

from __future__ import annotations

from collections.abc import Iterable

from medrcube.build.open_items.question import OpenQuestion

__all__ = ["ANOTHER", "CONTRASTS", "NORMAL", "UNSTATED", "with_most_contrast"]

ANOTHER = "another"
"""Another finding or disease is stated to be there."""

UNSTATED = "unstated"
"""Nothing else is stated, neither another finding nor that there is none."""

NORMAL = "normal"
"""The image is said to show nothing of the kind at all."""

CONTRASTS = (ANOTHER, UNSTATED, NORMAL)
"""From the contrast that is asked first to that which is asked where there is no other."""


def with_most_contrast(questions: Iterable[OpenQuestion]) -> list[OpenQuestion]:
    """Questions in their order, less those with a worse contrast than the best of their concept.

    Concepts are those of one source; questions that state no contrast all stay.
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
