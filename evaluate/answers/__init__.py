"""Find the letter that a reply gives, or abstain: nothing is ever guessed.

Layers, in this order: thinking is cut off; a structured field, an announcement ("the answer is
B") or a box, of which the last counts; a bare letter; a letter beside its own text; a mere hint;
the text of exactly one option. Whatever is contradictory, denied or left open gives no letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from medrcube.evaluate.answers import doubts, phrases, spans
from medrcube.evaluate.answers.choice import Choice, Reader, Verdict
from medrcube.evaluate.answers.mentions import DOUBTFUL, asserted_texts, named_options
from medrcube.evaluate.answers.option_lists import (
    Judged,
    begins_with_list,
    judged_list,
    without_restated,
)
from medrcube.evaluate.answers.plaintext import Fields, lift_fields, plain
from medrcube.evaluate.answers.reasoning import strip_reasoning

_DEPTH = 3
_LONGEST = 20_000
"""Of a longer reply only its beginning and its end are read: models that loop never stop."""
# Some models go on to invent another question; what follows answers that one.
_NEXT_QUESTION = re.compile(
    r"(?<=\S)\s*\n[\s*#]*(?:Question|Q|User|Human)\s*\d*\s*:", re.IGNORECASE
)


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
    discussed = judged_list(body, reader)
    judged = [*_listed(discussed), *_judged(body, reader)]
    listed = begins_with_list(body, reader)
    body = without_restated(body, reader)
    signs = [*_fields(fields, reader, depth), *_declared(body, reader), *judged]
    if discussed is not None:
        # "A: no, B: yes" is no change of mind.
        within = range(discussed.start, discussed.end)
        signs = [s for s in signs if s.rule != "revised" or s.start not in within]
    answer = _last(signs, body, reader)
    if answer is not None:
        return answer
    for layer in (_closing if listed else _bare, _hinted, _paired, _mentioned):
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
        if doubts.NOT_BEFORE.search(doubts.clause_before(body, match.start())):
            continue
        if "would" in match[0] and doubts.SUPPOSED.match(
            body, spans.sentence_start(body, match.start()), match.start()
        ):
            continue
        choice = reader.at(body, match.end())
        if choice.verdict is not Verdict.NOTHING:
            signs.append(_sign(match.start(), _unless_also(choice, match[0]), "declared"))
    for match in phrases.TURN.finditer(body):
        choice = reader.letter_at(body, match.end())
        if choice.verdict is not Verdict.NOTHING:
            signs.append(_sign(match.start(), choice, "revised"))
    return signs


def _listed(judged: Judged | None) -> list[_Sign]:
    """A list that calls one option right and others wrong."""
    if judged is None or judged.choice.verdict is Verdict.NOTHING:
        return []
    return [_sign(judged.start, judged.choice._replace(end=judged.end), "judged-list")]


def _judged(body: str, reader: Reader) -> list[_Sign]:
    """Sentences that call a letter right; weaker ones count where they agree and stand alone."""
    strong: list[_Sign] = []
    weak: list[_Sign] = []
    start = 0
    while match := phrases.VERDICT.search(body, start):
        start = match.end("letter")
        choice = reader.subject(body, match)
        if doubts.NOT_BEFORE.search(doubts.clause_before(body, match.start("letter"))):
            continue
        if choice.verdict is not Verdict.NOTHING:
            sign = _Sign(match.start(), match.end(), choice.verdict, choice.letter, "verdict")
            (weak if phrases.WEAK.match(match[0]) else strong).append(sign)
    for match in phrases.SINGLED.finditer(body):
        letter = match["letter"] or match["spared"]
        if letter in reader.letters:
            strong.append(_Sign(match.start(), match.end(), Verdict.LETTER, letter, "singled-out"))
    strong += [
        _Sign(match.start(), match.end(), Verdict.LETTER, match["letter"], "ranked")
        for match in phrases.RANKED.finditer(body)
        if match["letter"] in reader.letters
    ]
    if strong or len({sign.letter for sign in weak}) <= 1:
        return strong or weak
    last = weak[-1]
    return [_Sign(last.start, last.end, Verdict.OPEN, None, "verdict")]


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
    """A letter that stands alone: at the start, before its explanation, or at the end."""
    opening = reader.opening(body)
    closing = _closing(body, reader)
    if opening.verdict is Verdict.OPEN:
        return closing or _agreed(_hints(body, reader, opening.end)) or Answer(None, "left-open")
    if opening.verdict is Verdict.LETTER:
        if closing is not None and closing.letter != opening.letter:
            return Answer(None, "contradiction")
        return _unless_revised(Answer(opening.letter, "leading-letter"), opening.end, body, reader)
    return closing


def _closing(body: str, reader: Reader) -> Answer | None:
    """A letter alone on the last line, or alone in the last sentence after others were denied."""
    text = body.rstrip()
    line = text.rfind("\n")
    if line >= 0 and (letter := reader.whole_letter(text[line:])):
        others = {reader.whole_letter(other) for other in text[:line].split("\n")}
        return Answer(
            *((None, "contradiction") if others - {None, letter} else (letter, "last-line"))
        )
    stop = max(text.rfind(mark, 0, len(text) - 1) for mark in (". ", "; ", "! "))
    letter = reader.whole_letter(text[stop + 1 :]) if stop >= 0 else None
    if letter is None or reader.letters_not_denied(text, stop + 1) - {letter}:
        return None
    return Answer(letter, "last-sentence")


def _paired(body: str, reader: Reader) -> Answer | None:
    """One letter beside its own text, or named as an option, and no other."""
    letters = named_options(body, reader)
    if DOUBTFUL in letters:
        return Answer(None, "doubtful" if len(letters) == 1 else "several-options")
    if len(letters) == 1:
        return _unless_revised(Answer(letters.pop(), "letter-and-text"), 0, body, reader, soft=True)
    return Answer(None, "several-options") if letters else None


def _hinted(body: str, reader: Reader) -> Answer | None:
    return _agreed(_hints(body, reader, 0))


def _mentioned(body: str, reader: Reader) -> Answer | None:
    """Exactly one option's text, asserted in plain words."""
    letters = asserted_texts(body, reader)
    if len(letters) == 1:
        letter, sure = next(iter(letters.items()))
        return Answer(letter, "option-text") if sure else Answer(None, "doubtful")
    return Answer(None, "several-options") if letters else None


def _hints(body: str, reader: Reader, start: int) -> list[_Sign]:
    signs = []
    for match in phrases.HINT.finditer(body, start):
        if doubts.NOT_BEFORE.search(doubts.clause_before(body, match.start())):
            continue
        if match[0].rstrip().endswith((",", ":")) and reader.letters_in(match[0], 0):
            continue
        choice = reader.at(body, match.end(), strict=True)
        if choice.verdict is not Verdict.NOTHING:
            signs.append(_sign(match.start(), _unless_also(choice, match[0]), "hint"))
    return signs


def _unless_also(choice: Choice, announcement: str) -> Choice:
    """Open, where the announcement puts a second answer beside the first."""
    also = doubts.ALSO.search(announcement) is not None
    return choice._replace(verdict=Verdict.OPEN, letter=None) if also else choice


def _agreed(signs: list[_Sign]) -> Answer | None:
    ends = [index for index, sign in enumerate(signs) if sign.verdict is Verdict.OPEN]
    letters = (
        {sign.letter for sign in signs[ends[-1] + 1 :] or signs}
        if ends
        else {sign.letter for sign in signs}
    )
    if not letters:
        return None
    letter = letters.pop()
    return Answer(None, "contradiction") if letters or letter is None else Answer(letter, "hint")


def _unless_revised(
    answer: Answer, end: int, body: str, reader: Reader, *, soft: bool = False
) -> Answer:
    """The answer, or what a later change of mind makes of it."""
    marker = doubts.REVISION.search(body, end)
    if marker is None or soft:
        return answer
    later = _agreed(_hints(body, reader, max(end, marker.start() - 1)))
    if later is not None and later.letter is not None:
        return later
    others = reader.letters_in(body, marker.start()) - {answer.letter}
    return Answer(None, "revised") if others else answer


def _sign(start: int, choice: Choice, rule: str) -> _Sign:
    return _Sign(start, choice.end, choice.verdict, choice.letter, rule)
