"""Places of a text that say something about the answer: announcements, verdicts and hints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from medrcube.evaluate.answer_parsing import answer_phrases, hedging, letter_context, sentence_spans
from medrcube.evaluate.answer_parsing.choice_reader import Choice, Reader, Verdict
from medrcube.evaluate.answer_parsing.option_lists import Judged


class Sign(NamedTuple):
    """A place in the text that says something about the answer.

    Attributes:
        start: where it begins.
        end: where what it says ends.
        verdict: what it says.
        letter: the letter, for ``Verdict.LETTER``.
        rule: name of the rule that found it.
        unreal: whether it is said in the conditional mood.
    """

    start: int
    end: int
    verdict: Verdict
    letter: str | None
    rule: str
    unreal: bool = False


def declared(body: str, reader: Reader) -> Iterator[Sign]:
    """What an announcement announces, and a letter that a change of mind turns to."""
    for match in answer_phrases.DECLARATION.finditer(body):
        if _meant(body, _begin(match), match):
            yield from _sign(match, reader.at(body, match.end()), "declared")
    for match in answer_phrases.TURN.finditer(body):
        yield from _sign(match, reader.letter_at(body, match.end()), "revised")


def judged(body: str, reader: Reader, discussed: Judged | None) -> list[Sign]:
    """What is called right; weaker verdicts count where they agree and stand alone."""
    strong: list[Sign] = []
    weak: list[Sign] = []
    for sign, loose in _verdicts(body, reader):
        (weak if loose else strong).append(sign)
    for pattern, rule in (
        (answer_phrases.SINGLED, "singled-out"),
        (answer_phrases.RANKED, "ranked"),
    ):
        for match in pattern.finditer(body):
            letter = next(filter(None, match.groups()))
            if letter in reader.letters:
                strong.append(Sign(match.start(), match.end(), Verdict.LETTER, letter, rule))
    if not strong and len({sign.letter for sign in weak}) > 1:
        strong = [weak[-1]._replace(verdict=Verdict.OPEN, letter=None)]
    found = strong or weak
    if discussed is not None and discussed.choice.verdict is not Verdict.NOTHING:
        choice = discussed.choice
        found.append(
            Sign(discussed.start, discussed.end, choice.verdict, choice.letter, "judged-list")
        )
    return found


def hints(body: str, reader: Reader, start: int = 0) -> Iterator[Sign]:
    """What merely points to an answer."""
    for match in answer_phrases.HINT.finditer(body, start):
        if not _meant(body, _begin(match), match):
            continue
        if match[0].rstrip().endswith((",", ":")) and letter_context.named_after(
            match[0], 0, reader.letters
        ):
            continue
        yield from _sign(match, reader.at(body, match.end(), strict=True), "hint")


def _verdicts(body: str, reader: Reader) -> Iterator[tuple[Sign, bool]]:
    """Sentences that call a letter right, and whether several letters could be called so."""
    start = 0
    while match := answer_phrases.VERDICT.search(body, start):
        start = match.end("letter")
        if not _meant(body, match.start("letter"), match):
            continue
        choice = reader.subject(body, match)
        if choice.verdict is not Verdict.NOTHING:
            unreal = hedging.WOULD_BE.search(match[0]) is not None
            sign = Sign(
                match.start(), match.end(), choice.verdict, choice.letter, "verdict", unreal
            )
            yield sign, answer_phrases.WEAK.match(match[0]) is not None


def _meant(body: str, start: int, announcement: re.Match[str]) -> bool:
    """Whether an announcement speaks of this answer: of this case, and in the speaker's name."""
    clause = hedging.clause_before(body, start)
    if not hedging.meant(clause) or hedging.AT_FIRST.search(clause + announcement[0]):
        return False
    unreal = hedging.UNREAL.search(announcement[0]) is not None
    behind = unreal and hedging.HYPOTHETICAL.match(body, announcement.end()) is not None
    return not (behind or sentence_spans.supposed(body, announcement.end()))


def _begin(match: re.Match[str]) -> int:
    """Where the words of an announcement begin, behind the stop of the sentence before."""
    return match.end() - len(match[0].lstrip(" \n\t.,;:!?"))


def _sign(match: re.Match[str], choice: Choice, rule: str) -> Iterator[Sign]:
    """A sign where something is said; open, where a second answer is put beside the first."""
    if choice.verdict is Verdict.NOTHING:
        return
    beside = hedging.ALSO.search(match[0]) or hedging.TOO.match(match.string, choice.end)
    if rule != "revised" and beside:
        choice = choice._replace(verdict=Verdict.OPEN, letter=None)
    unreal = hedging.WOULD_BE.search(match[0]) is not None
    yield Sign(match.start(), choice.end, choice.verdict, choice.letter, rule, unreal)
