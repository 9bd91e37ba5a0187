"""Mentions of options in a text that does not announce an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from medrcube.evaluate.answer_parsing import answer_phrases, hedging
from medrcube.evaluate.answer_parsing.answer_phrases import CASED
from medrcube.evaluate.answer_parsing.choice_reader import BEHIND, ChoiceReader
from medrcube.evaluate.answer_parsing.letter_context import FREE_LETTER, is_word
from medrcube.evaluate.answer_parsing.option_text import OptionTexts
from medrcube.evaluate.answer_parsing.stance import OptionStance, clause, stance

__all__ = [
    "OptionMention",
    "asserted_texts",
    "concluded_letters",
    "decide_letter",
    "lone_letters",
    "named_options",
    "undenied_letters",
]


class OptionMention(NamedTuple):
    """A mention of an option.

    Attributes:
        start: start of the mention.
        letter: the option.
        stance: stance of its sentence towards it.
    """

    start: int
    letter: str
    stance: OptionStance


def decide_letter(mentions: Sequence[OptionMention]) -> tuple[str | None, str]:
    """Return the letter that the mentions support, or why there is none; "" without any mention.

    A rejected or merely mentioned option is not a candidate. Among several candidates the concluded
    one wins, if no other is mentioned after it.
    """
    live = [m for m in mentions if m.stance not in {OptionStance.DENIED, OptionStance.MENTIONED}]
    if not live:
        return None, ""
    concluded = [mention for mention in live if mention.stance is OptionStance.CONCLUDED]
    if len({mention.letter for mention in live}) == 1:
        sure = bool(concluded) or all(m.stance is not OptionStance.DOUBTED for m in live)
        return (live[0].letter, "asserted") if sure else (None, "doubtful")
    if len({mention.letter for mention in concluded}) == 1:
        last = max(concluded, key=lambda mention: mention.start)
        if all(m.letter == last.letter for m in live if m.start >= last.start):
            return last.letter, "asserted"
    return None, "several-options"


def concluded_letters(mentions: Sequence[OptionMention]) -> set[str]:
    """Return the options with the stance ``CONCLUDED``."""
    return {mention.letter for mention in mentions if mention.stance is OptionStance.CONCLUDED}


def named_options(body: str, reader: ChoiceReader) -> list[OptionMention]:
    """Return mentions of letters next to their own text, or referred to as an option.

    A mention counts if the sentence asserts it or says nothing else.
    """
    mentions = []
    for start, end, letter, labelled in _places(body, reader):
        verdict = stance(body, start, end)
        before, behind, _ = clause(body, start, end)
        # "B. Mass: a focal opacity ..." discusses an option.
        discussed = _HEAD.match(body, end) and not _WORD.search(before) and _WORD.search(behind)
        is_chosen = (
            labelled
            or not _WORD.search(before + behind)
            or _CHOICE.search(before)
            or _PRAISED.search(behind)
        )
        if verdict not in {OptionStance.DENIED, OptionStance.MENTIONED} and (
            discussed or not is_chosen or _in_doubt(before, behind)
        ):
            verdict = OptionStance.DOUBTED
        elif verdict is OptionStance.DOUBTED:
            verdict = OptionStance.ASSERTED
        mentions.append(OptionMention(start, letter, verdict))
    return mentions


def asserted_texts(body: str, reader: ChoiceReader) -> list[OptionMention]:
    """Return mentions of option texts."""
    mentions = []
    for letter, start, end in islice(reader.texts.everywhere(body), _MOST):
        verdict = stance(body, start, end)
        if verdict in {OptionStance.ASSERTED, OptionStance.CONCLUDED} and not _plainly(
            body, start, end, reader.texts
        ):
            verdict = OptionStance.DOUBTED
        mentions.append(OptionMention(start, letter, verdict))
    return mentions


def lone_letters(body: str, reader: ChoiceReader) -> list[OptionMention]:
    """Return mentions of lone letters in positions where a letter can be an answer.

    A letter preferred to the others is concluded; one that a phrase leads up to is asserted; any
    other is doubted.
    """
    mentions = []
    for match in islice(FREE_LETTER.finditer(body), _MOST):
        start, end, letter = match.start(), match.end(), match["letter"]
        if is_word(body, match, reader.letters) or (letter == "I" and letter not in reader.letters):
            continue
        verdict = stance(body, start, end)
        if verdict in {OptionStance.ASSERTED, OptionStance.CONCLUDED}:
            verdict = _standing(body, start, end)
        mentions.append(OptionMention(start, letter, verdict))
    return mentions


def undenied_letters(body: str, reader: ChoiceReader) -> set[str]:
    """Return lone letters that are neither rejected nor merely mentioned."""
    return {
        mention.letter
        for mention in lone_letters(body, reader)
        if mention.stance not in {OptionStance.DENIED, OptionStance.MENTIONED}
    } & reader.letters


def _standing(body: str, start: int, end: int) -> OptionStance:
    before, behind, _ = clause(body, start, end)
    if not hedging.is_asserted(before) or answer_phrases.LABELLING.search(before):
        return OptionStance.DOUBTED
    if answer_phrases.PREFERRED.match(body, end):
        return OptionStance.CONCLUDED
    opens = not _WORD.search(before)
    led = answer_phrases.LEADS_TO_LETTER.search(before) is not None and not _WORD.search(behind)
    return (
        OptionStance.ASSERTED
        if led or (opens and answer_phrases.FOLLOWS_LETTER.match(behind))
        else OptionStance.DOUBTED
    )


def _plainly(body: str, start: int, end: int, texts: OptionTexts) -> bool:
    """Whether a text stands on its own: not part of a longer name, not the state of one part."""
    text = body[start:end]
    state = _STATE.fullmatch(text) is not None
    before, _, _ = clause(body, start, end)
    carried = (_EXAM.match(body, end) if state else texts.carried(body, end)) is not None
    return (
        (not state or carried or _ALL.search(before) is not None)
        and (len(text) > 2 or not text.isascii() or (len(text) > 1 and text.isupper()))
        and (
            carried
            or not text.isascii()
            or answer_phrases.AFTER_MENTION.match(body, end) is not None
        )
    )


def _places(body: str, reader: ChoiceReader) -> list[tuple[int, int, str, bool]]:
    """Return (start, end, letter, whether followed by its text) of every option that is named."""
    places: list[tuple[int, int, str, bool]] = []
    for match in islice(FREE_LETTER.finditer(body), _MOST):
        end = reader.texts.beside(body, match.end(), match["letter"])
        if end is not None:
            places.append((match.start(), end, match["letter"], True))
    for letter, start, end in islice(reader.texts.everywhere(body), _MOST):
        behind = BEHIND.match(body, reader.texts.carried(body, end) or end)
        if behind and behind["letter"].upper() == letter:
            places.append((start, behind.end(), letter, True))
    labelled = [(start, end) for start, end, _, _ in places]
    for match in islice(_WITH_KEYWORD.finditer(body), _MOST):
        letter = match["letter"] or match["behind"]
        inside = any(start <= match.start() < end for start, end in labelled)
        if letter in reader.letters and not inside:
            places.append((match.start(), match.end(), letter, False))
    return places


def _in_doubt(before: str, behind: str) -> bool:
    before = _WITH_KEYWORD.sub(" ", _POLITE.sub(" ", before))
    return bool(hedging.DOUBT.search(f"{before} , {_WITH_KEYWORD.sub(' ', behind)}")) or bool(
        hedging.CONSIDERED.search(before.rpartition(",")[2])
    )


_MOST = 400
"""Maximum number of mentions examined; a reply with more is looping."""
# A normal heart does not make the study normal.
_STATE = re.compile(r"normal|healthy|unremarkable|正常", re.IGNORECASE)
_ALL = re.compile(
    r"""(?:^\W*|[:\u2013\u2014]\s*|\b(?:it|this|that|images?|picture|scan|study|exam|examination|radiograph|x-?ray|film|ct|mri|ultrasound
        |mammogram|echocardiogram|chest|brain|breast|everything|patient|diagnosis|impression|conclusion|findings?
        |appearance|result|section|slice|lungs|therefore|so|thus|hence)[\s:,]+)
      (?:(?:is|are|was|were|appears?|looks?|seems?|shows?|demonstrates?|to|be|overall|essentially|completely|entirely|a|an|the
        |of|as|with|consistent|therefore|most|likely|probably)\s+)*$|(?:图像|影像|图片|胸片|片子?|检查|结果|表现|属于?|为|是|基本|大致|诊断)$""",
    re.IGNORECASE | re.VERBOSE,
)
_EXAM = re.compile(
    r"\s+(?:(?:chest|brain|head|abdominal|cardiac|breast|pelvic|knee)\s+)?"
    r"(?:study|scan|exam(?:ination)?|image|radiograph|film|x-?ray|ct|mri|mammogram|ultrasound)\b",
    re.IGNORECASE,
)
_WITH_KEYWORD = re.compile(
    rf"\b(?i:option|choice|answer|opcion|opcao|opzione|选项|選項|選択肢)\s*[(\[\"']*"
    rf"(?P<letter>[A-Z])(?![{CASED}'-])|(?<![{CASED}])(?P<behind>[A-Z])\s*(?:选项|選項)",
)
_WORD = re.compile(r"\w")
_HEAD = re.compile(r"\s*[:\u2013\u2014-]\s")
_POLITE = re.compile(
    r"\b(?:i|we|guess|choice|opinion|diagnosis|answer)\s+would\s+(?:be|say|call|interpret|describe|read|classify|go)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\b(?:is|are|be|match\w*|correspond\w*|fit\w*|describ\w*|represent\w*|consistent|align\w*|in\s+line|indicat\w*|support\w*|suggest\w*"
    r"|select\w*|choos\w*|chose|pick\w*|best|point\w*|favou?r\w*|classif\w*|conclu\w*|identif\w*|compatible|as|in\s+favou?r"
    r"|therefore|thus|hence|so)\b|是|选|選|正|倾向",
    re.IGNORECASE,
)
_PRAISED = re.compile(r"\b(?:best|correct|right|fits|matches|most)\b|正", re.IGNORECASE)
