"""Repeated images: of cases with one image, one is asked, and none where they disagree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.stages.deduplicate import CONTRADICTION, REPEAT

__all__ = ["bar_repeated"]

_Case = tuple[str, str]
_Asked = tuple[str, str, str]


def bar_repeated(questions: Iterable[OpenQuestion]) -> Iterator[OpenQuestion]:
    """The same questions; of cases with one image, those of the first case alone stay open.

    Where such cases give different answers, none of them is asked.
    """
    questions = list(questions)
    cases: dict[_Asked, dict[_Case, list[object]]] = defaultdict(dict)
    for question in questions:
        if not question.barred:
            cases[_asked(question)].setdefault(_case(question), []).append(question.target)
    for question in questions:
        same = cases.get(_asked(question), {})
        if question.barred or len(same) < 2:
            yield question
        elif any(targets != same[min(same)] for targets in same.values()):
            yield replace(question, barred=CONTRADICTION)
        elif min(same) != _case(question):
            yield replace(question, barred=REPEAT)
        else:
            yield question


def _asked(question: OpenQuestion) -> _Asked:
    return question.sample.pixel_sha256, question.task.value, question.concept


def _case(question: OpenQuestion) -> _Case:
    return question.sample.source, question.sample.case
