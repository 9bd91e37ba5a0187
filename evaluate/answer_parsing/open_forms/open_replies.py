"""Parse the answer in a reply to a question without options, or abstain; nothing is guessed.

Reasoning is removed. The last marked answer counts (``marked_answers``); without one, a first or
last line that contains only the answer; otherwise the whole reply, if it contains one answer and is
not a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from medrcube.evaluate.answer_parsing.marked_answers import OUTRIGHT, marked_answers
from medrcube.evaluate.answer_parsing.markup_removal import strip_markup
from medrcube.evaluate.answer_parsing.open_forms.coordinate_reply import (
    read_box_part,
    read_point_part,
)
from medrcube.evaluate.answer_parsing.open_forms.number_reply import read_number_part
from medrcube.evaluate.answer_parsing.open_forms.order_reply import read_order_part
from medrcube.evaluate.answer_parsing.open_forms.pair_reply import read_pair_part
from medrcube.evaluate.answer_parsing.open_forms.part_reading import PartReading
from medrcube.evaluate.answer_parsing.refusals import is_refusal
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning
from medrcube.forms.order import OrderAsk
from medrcube.forms.protocol import Ask, Json
from medrcube.forms.units import unit_names

__all__ = ["READERS", "OpenReading", "read_open_reply", "read_truncated_open_reply"]

READERS: Mapping[str, Callable[[str, Any], PartReading]] = {
    "number": read_number_part,
    "point": read_point_part,
    "box": read_box_part,
    "order": read_order_part,
    "pair": read_pair_part,
}
"""Parser for a part of a reply, by form."""

_LONGEST = 20_000
_MOST_MARKS = 100
_NEXT_QUESTION = re.compile(
    r"(?<=\S)\s*\n[\s*#]*(?:Question|Q|User|Human)\s*\d*\s*:", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[\w%)\]])\.\s+(?=[A-Z])")
_AFTER_ALL = re.compile(
    r"\b(?:but|however|nevertheless|estimate[ds]?|approximat\w+)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+")
_ROUGHLY = frozenset({"about", "approximately", "approx", "roughly", "ca", "circa"})
_ALONE: Mapping[str, frozenset[str]] = {
    "number": _ROUGHLY | {word for name in unit_names() for word in _WORD.findall(name)},
    "point": frozenset({"x", "y", "point"}),
    "box": frozenset({"x", "y", "min", "max", "left", "top", "right", "bottom", "box", "to"}),
    "order": frozenset({"then", "and"}),
    "pair": frozenset({"yes", "no", "true", "false", "and", "statement"}),
}
"""Words allowed on a line that otherwise contains only the answer, by form."""


class OpenReading(NamedTuple):
    """Answer parsed from a reply.

    Attributes:
        answer: the answer as JSON, or ``None``.
        rule: the rule that matched, or the reason why there is no answer.
    """

    answer: Json
    rule: str


def read_open_reply(reply: str, ask: Ask) -> OpenReading:
    """Parse the answer in a reply.

    Args:
        reply: text of the model, including reasoning.
        ask: ``ask`` of the item.
    """
    visible = strip_reasoning(reply)
    if not visible.closed:
        return OpenReading(None, "unclosed-reasoning")
    text = visible.text
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 4]}\n{text[-_LONGEST:]}"
    text = _NEXT_QUESTION.split(text, maxsplit=1)[0]
    if not text.strip():
        return OpenReading(None, "empty")
    reader = READERS[ask.form]
    for mark in reversed(marked_answers(text)[-_MOST_MARKS:]):
        part = _SENTENCE_END.split(mark.text, maxsplit=1)[0] if ask.form == "number" else mark.text
        reading = reader(part, ask)
        if reading.answer is not None:
            return OpenReading(reading.answer, mark.rule)
        if reading.problem:
            return OpenReading(None, reading.problem)
    return _alone(text, ask) or _whole(text, ask)


def read_truncated_open_reply(reply: str, ask: Ask) -> OpenReading:
    """Return the answer in a closed mark of a truncated reply.

    Without one the rule is ``finish-reason``.
    """
    visible = strip_reasoning(reply)
    if visible.closed:
        marks = [mark for mark in marked_answers(visible.text) if mark.rule in OUTRIGHT]
        if marks:
            reading = READERS[ask.form](marks[-1].text, ask)
            if reading.answer is not None:
                return OpenReading(reading.answer, marks[-1].rule)
    return OpenReading(None, "finish-reason")


def _alone(text: str, ask: Ask) -> OpenReading | None:
    """Return the answer in the first or last line, if one contains nothing else."""
    words = set(_ALONE[ask.form])
    if isinstance(ask, OrderAsk):
        words |= {word.casefold() for label in ask.labels for word in _WORD.findall(label)}
    lines = [line for line in text.split("\n") if line.strip(" \t*_`")]
    if len(lines) < 2:
        return None
    answers = []
    for line in (lines[0], lines[-1]):
        if {word.casefold() for word in _WORD.findall(strip_markup(line))} <= words:
            reading = READERS[ask.form](line, ask)
            if reading.answer is not None:
                answers.append(reading.answer)
    if not answers:
        return None
    if any(answer != answers[0] for answer in answers):
        return OpenReading(None, "contradiction")
    return OpenReading(answers[0], "own-line")


def _whole(text: str, ask: Ask) -> OpenReading:
    """Return the only answer in the whole reply; in a refusal, only what follows an estimate."""
    if is_refusal(text):
        after = list(_AFTER_ALL.finditer(text))
        if not after:
            return OpenReading(None, "refusal")
        text = text[after[-1].end() :]
    reading = READERS[ask.form](text, ask)
    if reading.answer is not None:
        return OpenReading(reading.answer, "whole-reply")
    return OpenReading(None, reading.problem or "no-answer-found")
