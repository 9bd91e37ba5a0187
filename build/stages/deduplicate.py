"""Deduplication: each image is asked about once, and not at all if labels disagree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from medrcube.build.asked_columns import AskedTable
from medrcube.build.questions.fact_rules import OUT_OF_SCOPE, QuestionCandidate
from medrcube.build.stages.sample_codes import codes_of, in_several
from medrcube.build.stages.samples import Sample
from medrcube.fact_kind import FactKind

__all__ = ["CONTRADICTION", "REPEAT", "bar_repeated_columns", "bar_repeats"]

REPEAT, CONTRADICTION = "repeated-picture", "contradicting-pictures"

_Case = tuple[str, str]
"""Source and case."""
_Question = tuple[str, str, str]
"""Image, task and field."""


def bar_repeats(queries: Sequence[QuestionCandidate]) -> list[QuestionCandidate]:
    """Bar questions about an image whose pixels equal those of an image of another case or source.

    A marked image is identified by the clean one that it was drawn on. Among equal images with
    equal answers the first in order of source and case is asked about. If the answers differ,
    nobody knows which is right, so none is asked about; if they differ about a lesion, every other
    question that depends on it, such as its location, is barred too.
    """
    index = _index_answers(queries)
    verdicts = {
        question: (_differ(cases), min(cases)) for question, cases in index.answers.items() if cases
    }
    return [_bar(query, index, verdicts) for query in queries]


def bar_repeated_columns(table: AskedTable[QuestionCandidate]) -> AskedTable[QuestionCandidate]:
    """``bar_repeats`` for a table: only images shared by several cases are examined one by one."""
    codes = codes_of(table.samples)
    rows = table.row.astype(np.int64)
    clean = codes.is_one_of("artefact", ("clean",))[rows]
    pixels = codes.pixels.copy()
    pixels_of_slice = np.full(int(codes.slices.max(initial=0)) + 1, -1)
    pixels_of_slice[codes.slices[rows[clean]]] = pixels[rows[clean]]
    has_pixels = pixels_of_slice[codes.slices] >= 0
    pixels[has_pixels] = pixels_of_slice[codes.slices[has_pixels]]
    places = np.flatnonzero(in_several(pixels[rows], codes.cases[rows]))
    queries = table.at(places)
    return table.with_kinds(
        (int(place), candidate)
        for place, query, candidate in zip(places, queries, bar_repeats(queries), strict=True)
        if candidate is not query
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnswerIndex:
    """Index of the answers by image.

    Attributes:
        pictures: location of an image -> pixel hash of its clean image.
        answers: question -> case -> its answers.
        disputed: images for which cases state different lesions.
    """

    pictures: Mapping[tuple[str, str, str], str]
    answers: Mapping[_Question, Mapping[_Case, set[str]]]
    disputed: frozenset[str]


def _index_answers(queries: Iterable[QuestionCandidate]) -> _AnswerIndex:
    queries = list(queries)
    pictures = {
        _place(query.sample): query.sample.pixel_sha256
        for query in queries
        if query.sample.artefact == "clean"
    }
    answers: dict[_Question, dict[_Case, set[str]]] = defaultdict(dict)
    labelled: dict[_Question, dict[_Case, set[str]]] = defaultdict(dict)
    for query in queries:
        question, case = _question(query, pictures), _case(query)
        if not query.bar_reason:
            answers[question].setdefault(case, set()).add(query.key)
        # A barred question still shows that labels disagree, unless the fact is wider than the
        # image.
        if query.bar_reason != OUT_OF_SCOPE and _rests_on_lesion(query):
            labelled[question].setdefault(case, set()).add(query.key)
    disputed = frozenset(question[0] for question, cases in labelled.items() if _differ(cases))
    return _AnswerIndex(pictures=pictures, answers=answers, disputed=disputed)


def _bar(
    query: QuestionCandidate,
    index: _AnswerIndex,
    verdicts: Mapping[_Question, tuple[bool, _Case]],
) -> QuestionCandidate:
    if query.bar_reason:
        return query
    question = _question(query, index.pictures)
    differing, first = verdicts[question]
    in_doubt = question[0] in index.disputed and _rests_on_lesion(query)
    if in_doubt or differing:
        return replace(query, bar_reason=CONTRADICTION)
    return query if first == _case(query) else replace(query, bar_reason=REPEAT)


def _differ(cases: Mapping[_Case, set[str]]) -> bool:
    first, *others = cases.values()
    return any(keys != first for keys in others)


def _rests_on_lesion(query: QuestionCandidate) -> bool:
    """Whether the answer depends on the lesion in the image, or on where it was marked."""
    has_mark = query.sample.artefact != "clean"
    return has_mark or any(FactKind(kind).abnormal for kind in query.task.declaration.kinds)


def _question(query: QuestionCandidate, pictures: Mapping[tuple[str, str, str], str]) -> _Question:
    sample = query.sample
    picture = pictures.get(_place(sample), sample.pixel_sha256)
    return (picture, query.task, query.field)


def _place(sample: Sample) -> tuple[str, str, str]:
    return (sample.source, sample.case, sample.frames)


def _case(query: QuestionCandidate) -> _Case:
    return (query.sample.source, query.sample.case)
