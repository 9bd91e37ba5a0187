"""Find the letter that a reply gives, or abstain: nothing is ever guessed.

Thinking is cut off, and what stands under "why the other options are wrong" is not read. Then:

1. Signs that speak of the answer outright (``answer_markers``): a structured field, an
announcement ("the
   answer is B"), a box, a verdict, a list with verdicts. The last one counts.
2. Where there is none, layers that each read the whole reply: a bare letter; a hint; a letter
   beside its own text; the text of one option; a letter that stands where an answer stands. The
   first that finds a letter gives it, if no other finds another.

What is said of a named option in its clause (``stance``) and whether a sentence speaks of this
case, now and in the speaker's name (``hedging.meant``, ``sentence_spans.supposed``) is asked in
one place for all of them. Whatever is contradictory, denied, supposed or left open gives no
letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from medrcube.evaluate.answer_parsing import hedging, letter_context
from medrcube.evaluate.answer_parsing.answer_markers import Sign, declared, hints, judged
from medrcube.evaluate.answer_parsing.choice_reader import Reader, Verdict
from medrcube.evaluate.answer_parsing.markup_removal import Fields, lift_fields, plain
from medrcube.evaluate.answer_parsing.option_lists import (
    begins_with_list,
    judged_list,
    without_rejected,
    without_restated,
)
from medrcube.evaluate.answer_parsing.option_mentions import (
    asserted_texts,
    concluded,
    live_letters,
    named_options,
    standing_letters,
    weighed,
)
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning

_DEPTH = 3
_LONGEST = 20_000
"""Of a longer reply only its beginning and its end are read: models that loop never stop."""
# Some models go on to invent another question; what follows answers that one.
_NEXT_QUESTION = re.compile(
    r"(?<=\S)\s*\n[\s*#]*(?:Question|Q|User|Human)\s*\d*\s*:", re.IGNORECASE
)


_EXAMPLE = re.compile(r"\b(?:e\.g|i\.e|such\s+as)\.?", re.IGNORECASE)
# Their places are those of the raw text.
_OUTSIDE = frozenset({"json", "element", "boxed"})
_CLOSES = frozenset({"hint", "own-line", "last-sentence"})
_OR = re.compile(r"[\s$,/]*(?:or|and|或|和|,|/)[\s$]*(?:possibly|maybe|perhaps|also)?[\s$]*")


class Answer(NamedTuple):
    """What a reply answers.

    Attributes:
        letter: one of the item's own letters, or ``None``.
        rule: name of the rule that found it, or why there is none.
    """

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
    body = hedging.without_idioms(
        letter_context.with_named_places(plain(fields.rest), reader.letters)
    )
    if not body.strip() and not fields.found:
        return Answer(None, "empty")
    whole = reader.whole(body)
    if whole is not None:
        return Answer(whole, "bare-letter" if len(body.strip(" .()[]\"'")) == 1 else "whole-text")
    body = without_rejected(body)
    discussed = judged_list(body, reader)
    called_right = judged(body, reader, discussed)
    listed = begins_with_list(body, reader)
    body = without_restated(body, reader)
    signs = [*_fields(fields, reader, depth), *declared(body, reader), *called_right]
    if discussed is not None:
        # "A: no, B: yes" is no change of mind.
        within = range(discussed.start, discussed.end)
        signs = [s for s in signs if s.rule != "revised" or s.start not in within]
    answer = _last(signs, body, reader)
    if answer is not None:
        return answer
    layers = (_closing if listed else _bare, _hinted, _paired, _mentioned, _standing)
    found = [answer for layer in layers if (answer := layer(body, reader)) is not None]
    return _agreeing(found, body, reader) if found else Answer(None, "no-answer-found")


def _agreeing(found: Sequence[Answer], body: str, reader: Reader) -> Answer:
    """What the first layer found, unless another speaks for another letter.

    An option that is merely named somewhere does not gainsay a letter that closes the reply; and
    it is no answer while the letter of another stands in the text.
    """
    first = found[0]
    if first.letter is None:
        return first
    others = {answer.letter for answer in found if answer.rule != "option-text"} - {None}
    if first.rule == "option-text":
        others |= live_letters(body, reader)
    elif first.rule not in _CLOSES:
        pointed = concluded(asserted_texts(body, reader))
        others |= set() if first.letter in pointed else pointed
    return Answer(None, "contradiction") if others - {first.letter} else first


def _fields(fields: Fields, reader: Reader, depth: int) -> list[Sign]:
    """Values of structured fields and boxes, read like small replies of their own."""
    signs: list[Sign] = []
    for position, rule, value in fields.found:
        answer = _read(value, reader, depth + 1) if depth < _DEPTH else Answer(None, "nested")
        letter = answer.letter
        if signs and signs[-1].letter != letter:
            between = fields.rest[signs[-1].start : position]
            letter = None if _OR.fullmatch(between) else letter
        verdict = Verdict.OPEN if letter is None else Verdict.LETTER
        signs.append(Sign(position, position, verdict, letter, rule))
    return signs


def _last(signs: list[Sign], body: str, reader: Reader) -> Answer | None:
    """The last sign that says something, unless what follows takes it back."""
    if not signs:
        return None
    last = max(signs, key=lambda sign: (sign.start, sign.end))
    if last.unreal and {s.letter for s in signs if not s.unreal} - {None, last.letter}:
        return Answer(None, "contradiction")
    if last.verdict is Verdict.OPEN:
        later = _agreed(hints(body, reader, last.end))
        return later or Answer(None, "left-open")
    answer = _unless_revised(Answer(last.letter, last.rule), last.end, body, reader)
    later = None if last.rule in _OUTSIDE else _agreed(hints(body, reader, last.end))
    gainsaid = later is not None and later.letter not in {None, answer.letter}
    return Answer(None, "contradiction") if gainsaid else answer


def _bare(body: str, reader: Reader) -> Answer | None:
    """A letter that stands alone: at the start, before its explanation, or at the end."""
    opening = reader.opening(body)
    closing = _closing(body, reader)
    if opening.verdict is Verdict.OPEN:
        return closing or _agreed(hints(body, reader, opening.end)) or Answer(None, "left-open")
    if opening.verdict is Verdict.LETTER:
        if closing is not None and closing.letter != opening.letter:
            return Answer(None, "contradiction")
        return _unless_revised(Answer(opening.letter, "leading-letter"), opening.end, body, reader)
    return closing


def _closing(body: str, reader: Reader) -> Answer | None:
    """A letter alone on a line, or alone in the last sentence after others were denied."""
    lines = body.strip().split("\n")
    alone = {reader.whole_letter(line) for line in lines} - {None}
    if alone:
        return Answer(None, "contradiction") if len(alone) > 1 else Answer(alone.pop(), "own-line")
    labelled = {reader.labelled_line(line) for line in lines} - {None}
    if len(labelled) == 1:
        return Answer(labelled.pop(), "own-line")
    ending = {_ending(line, reader) for line in lines} - {None}
    return Answer(ending.pop(), "last-sentence") if len(ending) == 1 else None


def _ending(line: str, reader: Reader) -> str | None:
    """The letter that is the last sentence of a line, if no other stands undenied before it."""
    line = line.rstrip()
    stop = max(line.rfind(mark, 0, len(line) - 1) for mark in (". ", "; ", "! "))
    if stop < 0 or _EXAMPLE.search(line, max(0, stop - 4), stop + 1):
        return None
    letter = reader.whole_letter(line[stop + 1 :])
    return (
        letter
        if letter and not letter_context.not_denied_before(line, stop + 1) - {letter}
        else None
    )


def _paired(body: str, reader: Reader) -> Answer | None:
    """One letter beside its own text, or named as an option, and no other."""
    letter, why = weighed(named_options(body, reader))
    if letter is None:
        return Answer(None, why) if why else None
    return _unless_revised(Answer(letter, "letter-and-text"), 0, body, reader, soft=True)


def _hinted(body: str, reader: Reader) -> Answer | None:
    return _agreed(hints(body, reader, 0))


def _mentioned(body: str, reader: Reader) -> Answer | None:
    """Exactly one option's text, asserted in plain words."""
    letter, why = weighed(asserted_texts(body, reader))
    if letter is None:
        return Answer(None, why) if why else None
    return Answer(letter, "option-text")


def _standing(body: str, reader: Reader) -> Answer | None:
    """The one letter that stands where an answer stands."""
    letter, _ = weighed(standing_letters(body, reader))
    return Answer(letter, "standing-letter") if letter in reader.letters else None


def _agreed(found: Iterable[Sign]) -> Answer | None:
    signs = list(found)
    ends = [index for index, sign in enumerate(signs) if sign.verdict is Verdict.OPEN]
    letter_context = (
        {sign.letter for sign in signs[ends[-1] + 1 :] or signs}
        if ends
        else {sign.letter for sign in signs}
    )
    if not letter_context:
        return None
    letter = letter_context.pop()
    return (
        Answer(None, "contradiction")
        if letter_context or letter is None
        else Answer(letter, "hint")
    )


def _unless_revised(
    answer: Answer, end: int, body: str, reader: Reader, *, soft: bool = False
) -> Answer:
    """The answer, or what a later change of mind makes of it."""
    marker = hedging.REVISION.search(body, end)
    if marker is None or soft:
        return answer
    later = _agreed(hints(body, reader, max(end, marker.start() - 1)))
    if later is not None and later.letter is not None:
        return later
    others = letter_context.named_after(body, marker.start(), reader.letters) - {answer.letter}
    return Answer(None, "revised") if others else answer
