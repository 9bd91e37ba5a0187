"""Pictures that are there twice: asked once, and not at all where their labels disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medrcube.build.questions.derive import Query

REPEAT, CONTRADICTION = "repeated-picture", "contradicting-pictures"


def bar_repeats(queries: Sequence[Query]) -> list[Query]:
    """Bar what is asked of a picture that another case or source shows pixel for pixel.

    Of equal pictures with equal answers the first in order of source and case is asked. Where
    the answers differ nobody knows which is right, so none is asked.
    """
    answers: dict[tuple[str, str, str], dict[tuple[str, str], set[str]]] = {}
    for query in queries:
        if _asks_of_clean_picture(query):
            cases = answers.setdefault(_question(query), {})
            cases.setdefault(_case(query), set()).add(query.key)
    return [_judged(query, answers) for query in queries]


def _judged(
    query: Query, answers: dict[tuple[str, str, str], dict[tuple[str, str], set[str]]]
) -> Query:
    if not _asks_of_clean_picture(query):
        return query
    cases = answers[_question(query)]
    if any(keys != cases[_case(query)] for keys in cases.values()):
        return replace(query, barred=CONTRADICTION)
    return query if min(cases) == _case(query) else replace(query, barred=REPEAT)


def _asks_of_clean_picture(query: Query) -> bool:
    return not query.barred and query.sample.artefact == "clean"


def _question(query: Query) -> tuple[str, str, str]:
    return (query.sample.pixel_sha256, query.task, query.field)


def _case(query: Query) -> tuple[str, str]:
    return (query.sample.source, query.sample.case)
