"""Parse the option letter from a free-text reply, or abstain; nothing is guessed.

Reasoning is removed, and so is everything after "why the other options are wrong". Then:

1. Explicit markers (``answer_markers``): a structured field, an announcement ("the answer is B"), a
   box, a verdict, a list with verdicts. The last one counts.
2. Without a marker, layers that each read the whole reply: a bare letter; a hint; a letter next to
   its own text; the text of one option; a letter in answer position. The first layer that finds a
   letter decides, unless another layer finds a different one.

The layers share two checks: the stance of a clause towards an option it names (``stance``), and
whether the sentence is about this case, in the present and in the speaker's own voice
(``hedging.is_asserted``, ``sentence_spans.is_hypothetical``). Contradictory, negated, hypothetical
and undecided replies yield no letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from medrcube.evaluate.answer_parsing import hedging, letter_context
from medrcube.evaluate.answer_parsing.answer_markers import (
    AnswerMarker,
    announcement_markers,
    hint_markers,
    verdict_markers,
)
from medrcube.evaluate.answer_parsing.choice_reader import ChoiceKind, ChoiceReader
from medrcube.evaluate.answer_parsing.markup_removal import AnswerFields, lift_fields, strip_markup
from medrcube.evaluate.answer_parsing.option_lists import (
    begins_with_list,
    blank_rejected_options,
    blank_restated_options,
    judged_list,
)
from medrcube.evaluate.answer_parsing.option_mentions import (
    asserted_texts,
    concluded_letters,
    decide_letter,
    lone_letters,
    named_options,
    undenied_letters,
)
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning

__all__ = [
    "ParsedAnswer",
    "extract",
    "marked_answers",
    "markup_removal",
    "published_rule",
    "refusals",
    "reply_forms",
    "thinking_blocks",
]

_DEPTH = 3
_SHORT = 200
"""Maximum length of a reply whose parse is cached for all items with the same options."""
_LONGEST = 20_000
"""Characters of a reply that are parsed, from its beginning and end: looping models never stop."""
# Some models go on to invent another question; the text after it answers that one.
_NEXT_QUESTION = re.compile(
    r"(?<=\S)\s*\n[\s*#]*(?:Question|Q|User|Human)\s*\d*\s*:", re.IGNORECASE
)


_EXAMPLE = re.compile(r"\b(?:e\.g|i\.e|such\s+as)\.?", re.IGNORECASE)
# Rules whose positions refer to the raw text.
_OUTSIDE = frozenset({"json", "element", "boxed"})
_CLOSES = frozenset({"hint", "own-line", "last-sentence"})
_OR = re.compile(r"[\s$,/]*(?:or|and|或|和|,|/)[\s$]*(?:possibly|maybe|perhaps|also)?[\s$]*")


class ParsedAnswer(NamedTuple):
    """Letter parsed from a reply.

    Attributes:
        letter: one of the item's own letters, or ``None``.
        rule: name of the rule that matched, or the reason why there is no letter.
    """

    letter: str | None
    rule: str


def extract(reply: str, options: Sequence[tuple[str, str]]) -> ParsedAnswer:
    """Parse the answer in a reply.

    Args:
        reply: text of the model, including reasoning.
        options: (letter, text) of the item's own options.

    Returns:
        The letter and the rule that matched, or ``None`` and the reason.
    """
    own = tuple((letter, text) for letter, text in options)
    # Many replies of a run are just a letter, or a letter and its text.
    return (_extract_short if len(reply) <= _SHORT else _extract)(reply, own)


def _extract(reply: str, options: tuple[tuple[str, str], ...]) -> ParsedAnswer:
    visible = strip_reasoning(reply)
    if not visible.closed:
        return ParsedAnswer(None, "unclosed-reasoning")
    text = visible.text
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 4]}\n{text[-_LONGEST:]}"
    return _read(text, _reader_of(options), 0)


_extract_short = lru_cache(maxsize=1 << 14)(_extract)


@lru_cache(maxsize=1 << 12)
def _reader_of(options: tuple[tuple[str, str], ...]) -> ChoiceReader:
    """Return the reader for these options, shared by items with the same options."""
    return ChoiceReader([(letter, strip_markup(text)) for letter, text in options])


def _read(text: str, reader: ChoiceReader, depth: int) -> ParsedAnswer:
    if "\n" in text:
        text = _NEXT_QUESTION.split(text, maxsplit=1)[0]
    fields = lift_fields(text)
    body = hedging.without_idioms(
        letter_context.resolve_ordinals(strip_markup(fields.rest), reader.letters)
    )
    if not body.strip() and not fields.values:
        return ParsedAnswer(None, "empty")
    whole = reader.whole(body)
    if whole is not None:
        return ParsedAnswer(
            whole, "bare-letter" if len(body.strip(" .()[]\"'")) == 1 else "whole-text"
        )
    body = blank_rejected_options(body)
    discussed = judged_list(body, reader)
    called_right = verdict_markers(body, reader, discussed)
    listed = begins_with_list(body, reader)
    body = blank_restated_options(body, reader)
    markers = [*_fields(fields, reader, depth), *announcement_markers(body, reader), *called_right]
    if discussed is not None:
        # "A: no, B: yes" is not a change of mind.
        within = range(discussed.start, discussed.end)
        markers = [s for s in markers if s.rule != "revised" or s.start not in within]
    answer = _last(markers, body, reader)
    if answer is not None:
        return answer
    layers = (_closing if listed else _bare, _hinted, _paired, _mentioned, _standing)
    answers = [answer for layer in layers if (answer := layer(body, reader)) is not None]
    return _agreeing(answers, body, reader) if answers else ParsedAnswer(None, "no-answer-found")


def _agreeing(answers: Sequence[ParsedAnswer], body: str, reader: ChoiceReader) -> ParsedAnswer:
    """Return the answer of the first layer, unless another layer gives a different letter.

    An option that is merely mentioned does not contradict a final letter, and does not count as the
    answer if the letter of another option occurs in the text.
    """
    first = answers[0]
    if first.letter is None:
        return first
    others = {answer.letter for answer in answers if answer.rule != "option-text"} - {None}
    if first.rule == "option-text":
        others |= undenied_letters(body, reader)
    elif first.rule not in _CLOSES:
        pointed = concluded_letters(asserted_texts(body, reader))
        others |= set() if first.letter in pointed else pointed
    return ParsedAnswer(None, "contradiction") if others - {first.letter} else first


def _fields(fields: AnswerFields, reader: ChoiceReader, depth: int) -> list[AnswerMarker]:
    """Return markers for structured fields and boxes, whose values are parsed like replies."""
    markers: list[AnswerMarker] = []
    for position, rule, value in fields.values:
        answer = _read(value, reader, depth + 1) if depth < _DEPTH else ParsedAnswer(None, "nested")
        letter = answer.letter
        if markers and markers[-1].letter != letter:
            between = fields.rest[markers[-1].start : position]
            letter = None if _OR.fullmatch(between) else letter
        kind = ChoiceKind.UNDECIDED if letter is None else ChoiceKind.LETTER
        markers.append(AnswerMarker(position, position, kind, letter, rule))
    return markers


def _last(markers: list[AnswerMarker], body: str, reader: ChoiceReader) -> ParsedAnswer | None:
    """Return the answer of the last marker, unless the text after it revises it."""
    if not markers:
        return None
    firm = [marker for marker in markers if not marker.tentative]
    if not firm:
        return _tentative(markers, body, reader)
    markers = firm
    last = max(markers, key=lambda marker: (marker.start, marker.end))
    if last.conditional and {s.letter for s in markers if not s.conditional} - {None, last.letter}:
        return ParsedAnswer(None, "contradiction")
    if last.kind is ChoiceKind.UNDECIDED:
        later = _agreed(hint_markers(body, reader, last.end))
        return later or ParsedAnswer(None, "left-open")
    answer = _unless_revised(ParsedAnswer(last.letter, last.rule), last.end, body, reader)
    later = None if last.rule in _OUTSIDE else _agreed(hint_markers(body, reader, last.end))
    contradicted = later is not None and later.letter not in {None, answer.letter}
    return ParsedAnswer(None, "contradiction") if contradicted else answer


def _tentative(markers: list[AnswerMarker], body: str, reader: ChoiceReader) -> ParsedAnswer | None:
    """Return what tentative markers agree on, unless the reply asserts a letter elsewhere."""
    bare = _bare(body, reader)
    if bare is not None and bare.letter is not None:
        return bare
    hint = _agreed(marker for marker in hint_markers(body, reader) if not marker.conditional)
    if hint is not None:
        return hint
    last = max(markers, key=lambda marker: (marker.start, marker.end))
    if last.letter is None or len({marker.letter for marker in markers}) > 1:
        return ParsedAnswer(None, "contradiction")
    return _unless_revised(ParsedAnswer(last.letter, last.rule), last.end, body, reader)


def _bare(body: str, reader: ChoiceReader) -> ParsedAnswer | None:
    """Return a bare letter: at the start, before its explanation, or at the end."""
    opening = reader.opening(body)
    closing = _closing(body, reader)
    if opening.kind is ChoiceKind.UNDECIDED:
        return (
            closing
            or _agreed(hint_markers(body, reader, opening.end))
            or ParsedAnswer(None, "left-open")
        )
    if opening.kind is ChoiceKind.LETTER:
        if closing is not None and closing.letter != opening.letter:
            return ParsedAnswer(None, "contradiction")
        return _unless_revised(
            ParsedAnswer(opening.letter, "leading-letter"), opening.end, body, reader
        )
    return closing


def _closing(body: str, reader: ChoiceReader) -> ParsedAnswer | None:
    """Return a letter alone on a line, or alone in the last sentence after others were rejected."""
    lines = body.strip().split("\n")
    alone = {reader.whole_letter(line) for line in lines} - {None}
    if alone:
        return (
            ParsedAnswer(None, "contradiction")
            if len(alone) > 1
            else ParsedAnswer(alone.pop(), "own-line")
        )
    labelled = {reader.labelled_line(line) for line in lines} - {None}
    if len(labelled) == 1:
        return ParsedAnswer(labelled.pop(), "own-line")
    ending = {_ending(line, reader) for line in lines} - {None}
    return ParsedAnswer(ending.pop(), "last-sentence") if len(ending) == 1 else None


def _ending(line: str, reader: ChoiceReader) -> str | None:
    """Return the letter that is a line's last sentence, unless another precedes it unrejected."""
    line = line.rstrip()
    stop = max(line.rfind(mark, 0, len(line) - 1) for mark in (". ", "; ", "! "))
    if stop < 0 or _EXAMPLE.search(line, max(0, stop - 4), stop + 1):
        return None
    letter = reader.whole_letter(line[stop + 1 :])
    return (
        letter
        if letter and not letter_context.undenied_letters_before(line, stop + 1) - {letter}
        else None
    )


def _paired(body: str, reader: ChoiceReader) -> ParsedAnswer | None:
    """Return the only letter next to its own text, or referred to as an option."""
    letter, why = decide_letter(named_options(body, reader))
    if letter is None:
        return ParsedAnswer(None, why) if why else None
    return _unless_revised(ParsedAnswer(letter, "letter-and-text"), 0, body, reader, soft=True)


def _hinted(body: str, reader: ChoiceReader) -> ParsedAnswer | None:
    return _agreed(hint_markers(body, reader, 0))


def _mentioned(body: str, reader: ChoiceReader) -> ParsedAnswer | None:
    """Return the only option whose text is asserted."""
    letter, why = decide_letter(asserted_texts(body, reader))
    if letter is None:
        return ParsedAnswer(None, why) if why else None
    return ParsedAnswer(letter, "option-text")


def _standing(body: str, reader: ChoiceReader) -> ParsedAnswer | None:
    """Return the only bare letter in answer position."""
    letter, _ = decide_letter(lone_letters(body, reader))
    return ParsedAnswer(letter, "standing-letter") if letter in reader.letters else None


def _agreed(candidates: Iterable[AnswerMarker]) -> ParsedAnswer | None:
    markers = list(candidates)
    ends = [index for index, marker in enumerate(markers) if marker.kind is ChoiceKind.UNDECIDED]
    letters = (
        {marker.letter for marker in markers[ends[-1] + 1 :] or markers}
        if ends
        else {marker.letter for marker in markers}
    )
    if not letters:
        return None
    letter = letters.pop()
    return (
        ParsedAnswer(None, "contradiction")
        if letters or letter is None
        else ParsedAnswer(letter, "hint")
    )


def _unless_revised(
    answer: ParsedAnswer, end: int, body: str, reader: ChoiceReader, *, soft: bool = False
) -> ParsedAnswer:
    """Return the answer after taking later revisions into account."""
    marker = hedging.REVISION.search(body, end)
    if marker is None or soft:
        return answer
    later = _agreed(hint_markers(body, reader, max(end, marker.start() - 1)))
    if later is not None and later.letter is not None:
        return later
    others = letter_context.letters_after(body, marker.start(), reader.letters) - {answer.letter}
    return ParsedAnswer(None, "revised") if others else answer
