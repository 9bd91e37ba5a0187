"""Repeated images: of cases with equal images one is asked about, and none if they disagree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.stages.deduplicate import CONTRADICTION, REPEAT

__all__ = ["bar_repeated"]

_Case = tuple[str, str]
_Fact = tuple[str, str, str]


def bar_repeated(questions: Iterable[OpenQuestion]) -> Iterator[OpenQuestion]:
    """Yield the questions; of cases with equal images, only those of the first case stay unbarred.

    If such cases give different answers, none of them is asked.
    """
    questions = list(questions)
    cases: dict[_Fact, dict[_Case, list[object]]] = defaultdict(dict)
    for question in questions:
        if not question.bar_reason:
            cases[_fact(question)].setdefault(_case(question), []).append(question.target)
    repeated: dict[_Fact, tuple[_Case, bool]] = {}
    for fact, same in cases.items():
        if len(same) > 1:
            first = min(same)
            repeated[fact] = (first, any(targets != same[first] for targets in same.values()))
    for question in questions:
        verdict = None if question.bar_reason else repeated.get(_fact(question))
        if verdict is None:
            yield question
        elif verdict[1]:
            yield replace(question, bar_reason=CONTRADICTION)
        elif verdict[0] != _case(question):
            yield replace(question, bar_reason=REPEAT)
        else:
            yield question


def _fact(question: OpenQuestion) -> _Fact:
    return question.sample.pixel_sha256, question.task.value, question.concept


def _case(question: OpenQuestion) -> _Case:
    return question.sample.source, question.sample.case
