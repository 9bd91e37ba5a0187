"""Find the letter that a reply gives, or abstain: nothing is ever guessed.

Layers, in this order: thinking is cut off; a structured field, an announcement ("the answer is
B") or a box, of which the last counts; a bare letter; a letter beside its own text; a mere hint;
the text of exactly one option. Whatever is contradictory, denied or left open gives no letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from medrcube.evaluate import phrases
from medrcube.evaluate.choice import DOUBTFUL, Choice, Reader, Verdict
from medrcube.evaluate.plaintext import Fields, lift_fields, plain
from medrcube.evaluate.reasoning import strip_reasoning

_DEPTH = 3
_LONGEST = 20_000
"""Of a longer reply only its beginning and its end are read: models that loop never stop."""
# Some models go on to invent another question; what follows answers that one.
_NEXT_QUESTION = re.compile(r"(?<=\S)\s*\n[\s*#]*(?:Question|Q)\s*\d*\s*:", re.IGNORECASE)


class Answer(NamedTuple):
    """What a reply answers.

    Attributes:
        letter: one of the item's own letters, or ``None``.
        rule: name of the rule that found it, or why there is none.
    """

    letter: str | None
    rule: str


class _Sign(NamedTuple):
    """A place in the text that says something about the answer."""

    start: int
    end: int
    verdict: Verdict
    letter: str | None
    rule: str


def extract(reply: str, options: Sequence[tuple[str, str]]) -> Answer:
    """Read the answer out of a reply.

    Args:
        reply: what the model said, thinking included.
        options: (letter, text) of the item's own options.

    Returns:
        The letter and the rule that found it, or ``None`` and the reason.
    """
    visible = strip_reasoning(reply)
    if not visible.closed:
        return Answer(None, "unclosed-reasoning")
    text = visible.text
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 4]}\n{text[-_LONGEST:]}"
    return _read(text, Reader([(letter, plain(text)) for letter, text in options]), 0)


def _read(text: str, reader: Reader, depth: int) -> Answer:
    text = _NEXT_QUESTION.split(text, maxsplit=1)[0]
    fields = lift_fields(text)
    body = plain(fields.rest)
    if not body.strip() and not fields.found:
        return Answer(None, "empty")
    whole = reader.whole(body)
    if whole is not None:
        return Answer(whole, "bare-letter" if len(body.strip(" .()[]\"'")) == 1 else "whole-text")
    judged = _judged(body, reader)
    body = reader.without_lists(body)
    signs = [*_fields(fields, reader, depth), *_declared(body, reader), *judged]
    answer = _last(signs, body, reader)
    if answer is not None:
        return answer
    for layer in (_bare, _paired, _hinted, _mentioned):
        answer = layer(body, reader)
        if answer is not None:
            return answer
    return Answer(None, "no-answer-found")


def _fields(fields: Fields, reader: Reader, depth: int) -> list[_Sign]:
    """Values of structured fields and boxes, read like small replies of their own."""
    signs = []
    for position, rule, value in fields.found:
        answer = _read(value, reader, depth + 1) if depth < _DEPTH else Answer(None, "nested")
        verdict = Verdict.OPEN if answer.letter is None else Verdict.LETTER
        signs.append(_Sign(position, position, verdict, answer.letter, rule))
    return signs


def _declared(body: str, reader: Reader) -> list[_Sign]:
    signs = []
    for match in phrases.DECLARATION.finditer(body):
        if phrases.NOT_BEFORE.search(phrases.clause_before(body, match.start())):
            continue
        choice = reader.at(body, match.end())
        if choice.verdict is not Verdict.NOTHING:
            signs.append(_sign(match.start(), choice, "declared"))
    for match in phrases.TURN.finditer(body):
        choice = reader.letter_at(body, match.end())
        if choice.verdict is not Verdict.NOTHING:
            signs.append(_sign(match.start(), choice, "revised"))
    return signs


def _judged(body: str, reader: Reader) -> list[_Sign]:
    signs = []
    start = 0
    while match := phrases.VERDICT.search(body, start):
        start = match.end("letter")
        choice = reader.subject(body, match)
        if phrases.NOT_BEFORE.search(phrases.clause_before(body, match.start("letter"))):
            continue
        if choice.verdict is not Verdict.NOTHING:
            signs.append(
                _Sign(match.start(), match.end(), choice.verdict, choice.letter, "verdict")
            )
    return signs


def _last(signs: list[_Sign], body: str, reader: Reader) -> Answer | None:
    """The last sign that says something, unless what follows takes it back."""
    if not signs:
        return None
    last = max(signs, key=lambda sign: (sign.start, sign.end))
    if last.verdict is Verdict.OPEN:
        later = _agreed(_hints(body, reader, last.end))
        return later or Answer(None, "left-open")
    return _unless_revised(Answer(last.letter, last.rule), last.end, body, reader)


def _bare(body: str, reader: Reader) -> Answer | None:
    """A letter that stands alone: at the start, before its explanation, or on the last line."""
    lines = [line for line in body.splitlines() if line.strip()]
    if not lines:
        return None
    opening = reader.opening(body)
    closing = reader.whole_letter(lines[-1]) if len(lines) > 1 else None
    if opening.verdict is Verdict.OPEN:
        if closing:
            return Answer(closing, "last-line")
        return _agreed(_hints(body, reader, opening.end)) or Answer(None, "left-open")
    if opening.verdict is Verdict.LETTER:
        if closing not in {None, opening.letter}:
            return Answer(None, "contradiction")
        return _unless_revised(Answer(opening.letter, "leading-letter"), opening.end, body, reader)
    return Answer(closing, "last-line") if closing else None


def _paired(body: str, reader: Reader) -> Answer | None:
    """One letter beside its own text, or named as an option, and no other."""
    letters = reader.pairs(body)
    if letters == {DOUBTFUL}:
        return Answer(None, "doubtful")
    if len(letters) == 1:
        return _unless_revised(Answer(letters.pop(), "letter-and-text"), 0, body, reader, soft=True)
    return Answer(None, "several-options") if letters else None


def _hinted(body: str, reader: Reader) -> Answer | None:
    return _agreed(_hints(body, reader, 0))


def _mentioned(body: str, reader: Reader) -> Answer | None:
    """Exactly one option's text, asserted in plain words."""
    letters = reader.mentions(body)
    if len(letters) == 1:
        letter, sure = next(iter(letters.items()))
        return Answer(letter, "option-text") if sure else Answer(None, "doubtful")
    return Answer(None, "several-options") if letters else None


def _hints(body: str, reader: Reader, start: int) -> list[_Sign]:
    signs = []
    for match in phrases.HINT.finditer(body, start):
        if phrases.NOT_BEFORE.search(phrases.clause_before(body, match.start())):
            continue
        choice = reader.at(body, match.end(), strict=True)
        if choice.verdict is not Verdict.NOTHING:
            signs.append(_sign(match.start(), choice, "hint"))
    return signs


def _agreed(signs: list[_Sign]) -> Answer | None:
    letters = {sign.letter for sign in signs}
    if not letters:
        return None
    letter = letters.pop()
    return Answer(None, "contradiction") if letters or letter is None else Answer(letter, "hint")


def _unless_revised(
    answer: Answer, end: int, body: str, reader: Reader, *, soft: bool = False
) -> Answer:
    """The answer, or what a later change of mind makes of it."""
    marker = phrases.REVISION.search(body, end)
    if marker is None or soft:
        return answer
    later = _agreed(_hints(body, reader, marker.start()))
    if later is not None and later.letter is not None:
        return later
    others = reader.letters_in(body, marker.start()) - {answer.letter}
    return Answer(None, "revised") if others else answer


def _sign(start: int, choice: Choice, rule: str) -> _Sign:
    return _Sign(start, choice.end, choice.verdict, choice.letter, rule)
