"""Find the texts of an item's options, in any case, accent, punctuation or spelling of numbers.

Nothing here is a nearest string: a text is found when it differs in form only. Where that would
make two options of an item the same, both must stand as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from medrcube.evaluate.answers.phrases import AFTER_MENTION, CASED

EDGES = " \t\n.,:;!()[]\"'-\u2013\u2014"
"""What may stand around a text without belonging to it."""


class OptionTexts:
    """The texts of one item's options, as ``plaintext.plain`` leaves them."""

    def __init__(self, options: Sequence[tuple[str, str]]) -> None:
        self._texts = {letter: text for letter, text in options if text}
        # Longest first: an option's text may stand inside another's.
        ordered = sorted(self._texts.items(), key=lambda option: -len(option[1]))
        self._patterns = {letter: self._pattern(letter, text) for letter, text in ordered}

    def whole(self, text: str) -> str | None:
        """The letter whose text this is and nothing else."""
        bare = text.strip(EDGES)
        same = [key for key, own in self._texts.items() if _squeezed(own) == _squeezed(bare)]
        exact = [key for key in same if bare.casefold() == self._texts[key].strip(EDGES).casefold()]
        if exact or (len(same) == 1 and _squeezed(bare)):
            return (exact or same)[0]
        found = self.at(bare, 0)
        return found[0] if found is not None and found[1] == len(bare) else None

    def at(self, body: str, start: int) -> tuple[str, int] | None:
        """(letter, end) of the longest text that begins at ``start``."""
        for letter, pattern in self._patterns.items():
            match = pattern.match(body, start)
            if match:
                return letter, match.end()
        return None

    def everywhere(self, body: str) -> Iterator[tuple[str, int, int]]:
        """(letter, start, end) of every text; one inside a longer one does not count."""
        for letter, pattern in self._patterns.items():
            for match in pattern.finditer(body):
                yield letter, match.start(), match.end()
            body = pattern.sub(lambda match: "\0" * len(match[0]), body)

    def beside(self, body: str, end: int, letter: str) -> int | None:
        """Where the own text of a letter ends that stands straight behind the letter."""
        gap = _GAP.match(body, end)
        found = self.at(body, gap.end()) if gap else None
        if gap is None or found is None or found[0] != letter:
            return None
        if body[end - 1] in "Aa" and gap[0].isspace():
            # "a normal heart" is no option A, and neither is "A normal heart".
            phrase = body[end - 1] == "A" and AFTER_MENTION.match(body, found[1])
            return found[1] if phrase else None
        return found[1]

    def labels_another(self, body: str, end: int, letter: str) -> bool:
        """Whether a letter that ends at ``end`` is labelled with the text of another option."""
        gap = _GAP.match(body, end)
        found = self.at(body, gap.end()) if gap else None
        return found is not None and found[0] != letter and bool(_LABEL_END.match(body, found[1]))

    def _pattern(self, letter: str, text: str) -> re.Pattern[str]:
        loose = _compile(_loosely(text))
        others = (other for key, other in self._texts.items() if key != letter)
        if any(loose.fullmatch(other.strip(EDGES)) for other in others):
            return _compile(_exactly(text))
        return loose


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _exactly(text: str) -> str:
    return r"\s+".join(map(re.escape, text.strip(EDGES).split())) or re.escape(text)


def _loosely(text: str) -> str:
    words = _WORD.findall(text)
    if not words or len(text.strip(EDGES)) == 1:
        return _exactly(text)
    parts = [_variants(words[0], first=True, last=len(words) == 1)]
    for before, word in pairwise(words):
        least = 1 if before[-1].isdigit() and word[0].isdigit() else 0
        numbered = word.isdigit() or word.upper() in _ROMAN
        between = rf"{_BETWEEN}{{{least},4}}"
        parts.append(between + rf"(?:{_KIND}{between})?" if numbered else between)
        parts.append(_variants(word, first=False, last=word is words[-1]))
    return "".join(parts)


def _variants(word: str, *, first: bool, last: bool) -> str:
    """A word in the forms that mean the same: British, without apostrophe, IV for 4."""
    if not first and word.upper() in _ROMAN:
        return f"(?:{word}|{_ROMAN.index(word.upper())})"
    if not first and word.isdigit() and int(word) < len(_ROMAN):
        return f"(?:{word}|{_ROMAN[int(word)]})"
    pattern = re.escape(word)
    if word.isascii() and word.isalpha() and len(word) > _SHORT:
        pattern = _DIGRAPH.sub("[ao]?e", _OUR.sub("ou?r", pattern))
    return pattern.replace("'", "'?") + ("" if last or not word.isalpha() else "(?:'s)?")


def _compile(words: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![{CASED}])(?<![{CASED}]-){words}(?![{CASED}])(?!-[{CASED}])", re.IGNORECASE
    )


_SHORT = 3
_GAP = re.compile(r"[\s.)\]:\"',(=\u2013\u2014-]{0,6}")
_LABEL_END = re.compile(r"\s*(?:$|\n|[.;)\]])")
_WORD = re.compile(r"[^\s/_,():;\"\u2013\u2014-]+")
_BETWEEN = r"[\s/_,():;\"\u2013\u2014-]"
_KIND = r"(?:category|grade|stage|class|type|score|level)"
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
# Edema, oedema; hemorrhage, haemorrhage; tumor, tumour.
_DIGRAPH = re.compile(r"[ao]e(?=[^aeiou\W])|(?<![aeiou])e(?=[^aeiou\W])", re.IGNORECASE)
_OUR = re.compile(r"ou?r(?=s?$)", re.IGNORECASE)
