"""Explicit markers of the answer in a text: announcements, verdicts and hints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from medrcube.evaluate.answer_parsing import answer_phrases, hedging, letter_context, sentence_spans
from medrcube.evaluate.answer_parsing.choice_reader import ChoiceKind, ChoiceMatch, ChoiceReader
from medrcube.evaluate.answer_parsing.option_lists import JudgedList

__all__ = ["AnswerMarker", "announcement_markers", "hint_markers", "verdict_markers"]


class AnswerMarker(NamedTuple):
    """A position in the text with a statement about the answer.

    Attributes:
        start: start of the marker.
        end: end of the statement.
        kind: kind of statement.
        letter: the letter, for ``ChoiceKind.LETTER``.
        rule: name of the rule that found it.
        conditional: whether it is in the conditional mood, or says what seems to be the answer; it
            does not overrule another answer.
        tentative: whether it only calls an option right among others, conceding it or as it seems;
            it does not count beside any other answer.
    """

    start: int
    end: int
    kind: ChoiceKind
    letter: str | None
    rule: str
    conditional: bool = False
    tentative: bool = False


_TURNING = ("actually", "correction", "scratch", "second", "reflection", "review", "wait", "no,")
_SINGLING = ("only", "just", "except", "but", "besides", "than", "apart")
"""Words of which the pattern ``TURN`` or ``SINGLED`` needs one in an ASCII text."""


def _may_have(body: str, words: Sequence[str]) -> bool:
    """Whether a pattern that needs one of the words may match; a look-up is far cheaper to try."""
    # Patterns that ignore case match a dotless i for an i, and have Chinese alternatives.
    if not body.isascii():
        return True
    lower = body.lower()
    return any(word in lower for word in words)


def announcement_markers(body: str, reader: ChoiceReader) -> Iterator[AnswerMarker]:
    """Yield announced answers, and letters that a change of mind turns to."""
    for match in answer_phrases.DECLARATION.finditer(body):
        if _is_asserted(body, _begin(match), match):
            yield from _marker(match, reader.at(body, match.end()), "declared")
    if _may_have(body, _TURNING):
        for match in answer_phrases.TURN.finditer(body):
            yield from _marker(match, reader.letter_at(body, match.end()), "revised")


def verdict_markers(
    body: str, reader: ChoiceReader, discussed: JudgedList | None
) -> list[AnswerMarker]:
    """Return letters judged correct; weak verdicts count only if they agree and stand alone."""
    strong: list[AnswerMarker] = []
    weak: list[AnswerMarker] = []
    for marker, loose in _verdicts(body, reader):
        (weak if loose else strong).append(marker)
    for pattern, rule, is_possible in (
        (answer_phrases.SINGLED, "singled-out", _may_have(body, _SINGLING)),
        (answer_phrases.RANKED, "ranked", ">" in body or (": " in body and "," in body)),
    ):
        for match in pattern.finditer(body) if is_possible else ():
            letter = next(filter(None, match.groups()))
            if letter in reader.letters:
                strong.append(
                    AnswerMarker(match.start(), match.end(), ChoiceKind.LETTER, letter, rule)
                )
    if not strong and len({marker.letter for marker in weak}) > 1:
        strong = [weak[-1]._replace(kind=ChoiceKind.UNDECIDED, letter=None)]
    markers = strong or weak
    if discussed is not None and discussed.choice.kind is not ChoiceKind.NOTHING:
        choice = discussed.choice
        markers.append(
            AnswerMarker(discussed.start, discussed.end, choice.kind, choice.letter, "judged-list")
        )
    return markers


def hint_markers(body: str, reader: ChoiceReader, start: int = 0) -> Iterator[AnswerMarker]:
    """Yield phrases that merely hint at an answer."""
    for match in answer_phrases.HINT.finditer(body, start):
        if not _is_asserted(body, _begin(match), match):
            continue
        if match[0].rstrip().endswith((",", ":")) and letter_context.letters_after(
            match[0], 0, reader.letters
        ):
            continue
        yield from _marker(match, reader.at(body, match.end(), strict=True), "hint")


def _verdicts(body: str, reader: ChoiceReader) -> Iterator[tuple[AnswerMarker, bool]]:
    """Yield sentences that judge a letter correct, and whether they could hold for several."""
    start = 0
    while match := answer_phrases.VERDICT.search(body, start):
        start = match.end("letter")
        if not _is_asserted(body, match.start("letter"), match):
            continue
        choice = reader.subject(body, match)
        words = body[match.end("text") : match.end()]
        seeming = hedging.SEEMING.search(words) is not None
        if choice.kind is ChoiceKind.NOTHING or hedging.is_first_view(
            body, match.end(), seeming=seeming
        ):
            continue
        preferred = hedging.COMPARATIVE.search(words) is not None
        weakened = hedging.is_weakened(body, match.start("letter"), match.end())
        marker = AnswerMarker(
            match.start(),
            match.end(),
            choice.kind,
            choice.letter,
            "verdict",
            conditional=hedging.WOULD_BE.search(match[0]) is not None or (seeming and preferred),
            tentative=weakened or (seeming and not preferred),
        )
        yield marker, answer_phrases.WEAK.match(match[0]) is not None


def _is_asserted(body: str, start: int, announcement: re.Match[str]) -> bool:
    """Whether an announcement is about this case and in the speaker's own voice."""
    clause = hedging.clause_before(body, start)
    if not hedging.is_asserted(clause) or hedging.AT_FIRST.search(clause + announcement[0]):
        return False
    conditional = hedging.UNREAL.search(announcement[0]) is not None
    behind = conditional and hedging.HYPOTHETICAL.match(body, announcement.end()) is not None
    return not (behind or sentence_spans.is_hypothetical(body, announcement.end()))


def _begin(match: re.Match[str]) -> int:
    """Return the start of an announcement's words, after the preceding full stop."""
    return match.end() - len(match[0].lstrip(" \n\t.,;:!?"))


def _marker(match: re.Match[str], choice: ChoiceMatch, rule: str) -> Iterator[AnswerMarker]:
    """Yield the marker of a choice; undecided if a second answer is joined to the first."""
    seeming = hedging.SEEMING.search(match[0]) is not None
    if choice.kind is ChoiceKind.NOTHING or hedging.is_first_view(
        match.string, choice.end, seeming=seeming
    ):
        return
    beside = hedging.ALSO.search(match[0]) or hedging.TOO.match(match.string, choice.end)
    if rule != "revised" and beside:
        choice = choice._replace(kind=ChoiceKind.UNDECIDED, letter=None)
    conditional = seeming or hedging.WOULD_BE.search(match[0]) is not None
    yield AnswerMarker(match.start(), choice.end, choice.kind, choice.letter, rule, conditional)
