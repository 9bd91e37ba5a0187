"""Negation detection (NegEx): whether a text affirms a phrase, denies it or leaves it open.

The method is NegEx: a cue within five words of a phrase, in the same sentence, negates it
(Chapman 2001, doi:10.1006/jbin.2001.1029), and a word such as "but" ends the reach of a cue
(ConText, Harkema 2009, doi:10.1016/j.jbi.2009.05.002). Two rules err to the safe side: a cue that
stands farther off in the same clause leaves the phrase open, and so does every word of doubt.

The kept libraries for this (negspaCy, medspaCy) bring spaCy and its models for a few dozen cues
over notes of one or two sentences; a reader can check this page in their place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["PHRASE", "Assertion", "compile_phrase", "find_mentions", "words_of_name"]

REACH = 5
"""Words between a cue and the phrase that it governs (Chapman 2001)."""
GAP = 12
"""Words that ``...`` in a phrase may stand for."""
_PART = r"[A-Za-z0-9 '/()\[\]|?:-]+"
PHRASE = rf"\^?{_PART}(?: \.\.\. {_PART})*\$?"
"""Form of a phrase: words with alternatives and optional parts, ``^`` and ``$`` for the ends of a
sentence. There is no wildcard, so that what matched holds nothing but words of the card."""


class Assertion(StrEnum):
    """What a text does with a phrase."""

    AFFIRMED = "affirmed"
    DENIED = "denied"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class PhraseMention:
    """One place where a text uses a phrase: the words that matched, and what it does with them."""

    words: str
    stance: Assertion


def _any(*cues: str) -> re.Pattern[str]:
    longest_first = sorted(cues, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)", re.IGNORECASE)


_NO_CUE = _any(
    *("no doubt", "no change", "no increase", "no improvement", "no resolution", "not only"),
    *("not resolved", "not cleared", "without change", "without improvement", "without difficulty"),
    *("could be seen", "can be seen", "may be seen", "could be observed"),
)
"""Words that look like a cue and negate nothing that follows ("pseudo-negation")."""
_DENIES_AHEAD = _any(
    *("no", "not", "nor", "never", "neither", "none", "without", "w/o", "cannot see", "absent"),
    *("did not show", "does not show", "no evidence of", "no signs? of", "negative for"),
    *("no evidence of significant", "absence of", "lack of", "free of", "free from"),
    *("denies", "denied", "resolution of", "resolved", "clearing of", "clearance of"),
    *("disappearance of", "fails to show", "failed to show", "ruled out", "excluded"),
    *("sem", "nao", "sin"),  # Portuguese and Spanish notes
)
_DENIES_BEHIND = _any(
    *("absent", "not seen", "not visible", "not present", "not detected", "not demonstrated"),
    *("not shown", "not found", "not observed", "not appreciated", "was not", "were not"),
    *("is not", "are not", "ruled out", "excluded", "resolved", "cleared", "clearing"),
    *("disappeared", "negative", "gone"),
)
_DOUBTS_AHEAD = _any(
    *("possible", "possibly", "probable", "probably", "perhaps", "maybe", "may", "might", "could"),
    *("suspected", "suspicion", "suspicious", "suspect", "likely", "unlikely", "questionable"),
    *("unsure", "uncertain", "not sure", "not 100% sure", "cannot be sure", "can't be sure"),
    *("cannot exclude", "cannot rule out", "not excluded", "rule out", "r/o", "to exclude"),
    *(
        "almost",
        "nearly",
        "looks like",
        "resembling",
        "resembles",
        "suggests",
        "suggesting",
        "suggestive",
    ),
    *("differential", "versus", "vs", "should be"),
)
_DOUBTS_BEHIND = _any(
    *("possible", "possibly", "probable", "probably", "perhaps", "maybe", "suspected", "likely"),
    *("unlikely", "questionable", "unsure", "uncertain", "not sure", "not 100% sure"),
    *("cannot be excluded", "not excluded", "not ruled out"),
)
_ENDS = _any(
    *("but", "however", "although", "though", "except", "nevertheless", "yet", "still"),
    *("whereas", "while", "instead", "replaced by", "apart from", "aside from", "other than"),
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[\r\n]+")


def compile_phrase(phrase: str) -> re.Pattern[str]:
    """A phrase as a pattern; each part between ``...`` is one group.

    Raises:
        re.error: brackets do not match.
    """
    parts = ["({})".format(part.replace("(", "(?:")) for part in phrase.split(" ... ")]
    gap = rf"(?:\W+\w+){{0,{GAP}}}?\W+"
    return re.compile(rf"(?<![A-Za-z0-9]){gap.join(parts)}(?![A-Za-z0-9])", re.IGNORECASE)


def find_mentions(text: str, phrase: re.Pattern[str]) -> Iterator[PhraseMention]:
    """Every place where a text uses a phrase of ``compile_phrase``; accents make no difference."""
    plain = "".join(
        character
        for character in unicodedata.normalize("NFKD", text)
        if not unicodedata.combining(character)
    )
    for sentence in (" ".join(part.split()).rstrip(".;") for part in _SENTENCE.split(plain)):
        for match in phrase.finditer(sentence):
            ahead = _NO_CUE.sub(" ", _ahead(sentence, match))
            behind = _NO_CUE.sub(" ", sentence[match.end() :])
            words = " ... ".join(match.groups())
            yield PhraseMention(words.lower(), _stance(_last_clause(ahead), _first_clause(behind)))


def words_of_name(stem: str) -> str:
    """A file name as words: ``small-effusionA-line_2`` becomes ``small-effusion A-line 2``."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", stem)
    return " ".join(re.sub(r"[_+.,()\[\]]+", " ", parted).split())


def _stance(ahead: str, behind: str) -> Assertion:
    doubted = _distance(_DOUBTS_AHEAD, ahead) is not None or _near_behind(_DOUBTS_BEHIND, behind)
    if doubted or re.match(r"\W*\?", behind):
        return Assertion.OPEN
    if _near_behind(_DENIES_BEHIND, behind):
        return Assertion.DENIED
    distance = _distance(_DENIES_AHEAD, ahead)
    if distance is None:
        return Assertion.AFFIRMED
    return Assertion.DENIED if distance <= REACH else Assertion.OPEN


def _ahead(sentence: str, match: re.Match[str]) -> str:
    """What stands before the last part of a phrase, without its other parts."""
    ends = [0, *(match.end(part) for part in range(1, len(match.groups())))]
    starts = [match.start(part + 1) for part in range(len(match.groups()))]
    return " ".join(sentence[end:start] for end, start in zip(ends, starts, strict=True))


def _last_clause(text: str) -> str:
    return _ENDS.split(text)[-1]


def _first_clause(text: str) -> str:
    return _ENDS.split(text)[0]


def _distance(cues: re.Pattern[str], ahead: str) -> int | None:
    """Words between the nearest cue and the end of ``ahead``; ``None`` without a cue."""
    counts = [len(re.findall(r"\w[\w'-]*", ahead[cue.end() :])) for cue in cues.finditer(ahead)]
    return min(counts, default=None)


def _near_behind(cues: re.Pattern[str], behind: str) -> bool:
    return any(
        len(re.findall(r"\w[\w'-]*", behind[: cue.start()])) < REACH
        and "," not in behind[: cue.start()]
        for cue in cues.finditer(behind)
    )
