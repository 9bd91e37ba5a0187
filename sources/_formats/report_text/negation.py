"""Negation detection (NegEx): whether a text affirms, denies or leaves open a phrase.

The method is NegEx: a cue within five words of a phrase, in the same sentence, negates it
(Chapman 2001, doi:10.1006/jbin.2001.1029), and a word such as "but" ends the scope of a cue
(ConText, Harkema 2009, doi:10.1016/j.jbi.2009.05.002). Two additional rules are conservative: a
more distant cue in the same clause leaves the phrase open, and so does any expression of doubt.

The maintained libraries (negspaCy, medspaCy) require spaCy and its models, for a few dozen cues in
notes of one or two sentences; this module is short enough to be verified by reading.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["PHRASE", "Assertion", "compile_phrase", "find_mentions", "words_of_name"]

REACH = 5
"""Maximum number of words between a cue and the phrase in its scope (Chapman 2001)."""
GAP = 12
"""Maximum number of words that ``...`` in a phrase matches."""
_PART = r"[A-Za-z0-9 '/()\[\]|?:-]+"
PHRASE = rf"\^?{_PART}(?: \.\.\. {_PART})*\$?"
"""Syntax of a phrase: words with alternatives and optional parts, ``^`` and ``$`` for the ends of a
sentence. There is no wildcard, so that a match contains only words of the card."""


class Assertion(StrEnum):
    """Assertion status of a phrase in a text."""

    AFFIRMED = "affirmed"
    DENIED = "denied"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class PhraseMention:
    """One occurrence of a phrase: the matching words and their assertion status."""

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
"""Pseudo-negation: words that look like a cue but do not negate what follows."""
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
    """Compile a phrase to a pattern with one group per part between ``...``.

    Raises:
        re.error: unbalanced brackets.
    """
    parts = ["({})".format(part.replace("(", "(?:")) for part in phrase.split(" ... ")]
    gap = rf"(?:\W+\w+){{0,{GAP}}}?\W+"
    return re.compile(rf"(?<![A-Za-z0-9]){gap.join(parts)}(?![A-Za-z0-9])", re.IGNORECASE)


def find_mentions(text: str, phrase: re.Pattern[str]) -> Iterator[PhraseMention]:
    """Yield every occurrence of a compiled phrase in a text; accents are ignored."""
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
    """Split a file name into words: ``small-effusionA-line_2`` -> ``small-effusion A-line 2``."""
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
    """Return the text before the last part of a phrase, without its other parts."""
    ends = [0, *(match.end(part) for part in range(1, len(match.groups())))]
    starts = [match.start(part + 1) for part in range(len(match.groups()))]
    return " ".join(sentence[end:start] for end, start in zip(ends, starts, strict=True))


def _last_clause(text: str) -> str:
    return _ENDS.split(text)[-1]


def _first_clause(text: str) -> str:
    return _ENDS.split(text)[0]


def _distance(cues: re.Pattern[str], ahead: str) -> int | None:
    """Return the number of words from the nearest cue to the end; ``None`` without a cue."""
    counts = [len(re.findall(r"\w[\w'-]*", ahead[cue.end() :])) for cue in cues.finditer(ahead)]
    return min(counts, default=None)


def _near_behind(cues: re.Pattern[str], behind: str) -> bool:
    return any(
        len(re.findall(r"\w[\w'-]*", behind[: cue.start()])) < REACH
        and "," not in behind[: cue.start()]
        for cue in cues.finditer(behind)
    )
