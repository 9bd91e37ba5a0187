"""Match option texts regardless of case, accents, punctuation, plural and numeral style.

There is no fuzzy matching: a text matches only if it differs in form alone. If that would make two
options of an item equal, both must match exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from medrcube.evaluate.answer_parsing.answer_phrases import AFTER_MENTION, CARRIER, CASED

__all__ = ["EDGES", "OptionTexts"]

EDGES = " \t\n.,:;!()[]\"'-\u2013\u2014"
"""Characters to strip around a text."""


class OptionTexts:
    """The texts of one item's options, as ``markup_removal.strip_markup`` leaves them."""

    def __init__(self, options: Sequence[tuple[str, str]]) -> None:
        self._texts = {letter: text for letter, text in options if text}
        # Longest first: one option's text may be contained in another's.
        ordered = sorted(self._texts.items(), key=lambda option: -len(option[1]))
        longer = {" ".join(words[1:]) for _, text in ordered if len(words := text.split()) > _FEW}
        tails = "|".join(map(re.escape, sorted(longer, key=len, reverse=True)))
        self._shared = re.compile(rf"\s+(?:{tails or '(?!)'})\b", re.IGNORECASE)
        self._patterns = {letter: self._pattern(letter, text) for letter, text in ordered}
        self._squeezed = {letter: _squeezed(text) for letter, text in self._texts.items()}
        self._words = {letter: _content_words(text) for letter, text in self._texts.items()}
        self._all_words = frozenset().union(*self._words.values())
        self._usual_words = self._all_words | _GENERAL | _FUNCTION_WORDS

    def whole(self, text: str) -> str | None:
        """Return the letter whose text equals this one."""
        bare = text.strip(EDGES)
        squeezed = _squeezed(bare)
        same = [key for key, own in self._squeezed.items() if own == squeezed]
        exact = [key for key in same if bare.casefold() == self._texts[key].strip(EDGES).casefold()]
        if exact or (len(same) == 1 and squeezed):
            return (exact or same)[0]
        match = self.at(bare, 0)
        if match is not None and match[1] == len(bare):
            return match[0]
        return self._abbreviated(bare) or self._distinctive_words(bare)

    def at(self, body: str, start: int) -> tuple[str, int] | None:
        """Return (letter, end) of the longest option text that begins at ``start``."""
        for letter, pattern in self._patterns.items():
            match = pattern.match(body, start)
            if match:
                return letter, match.end()
        return None

    def carried(self, body: str, end: int) -> int | None:
        """Return the end of trailing nouns that do not change a text's meaning, or ``None``.

        These are general nouns ("scan"), and those that follow the distinguishing word of another
        option: "diabetic retinopathy" after "Mild" if there is "No diabetic retinopathy".
        """
        general = CARRIER.match(body, end)
        if general or self.at(body, end + 1):
            return general.end() if general else None
        shared = self._shared.match(body, end)
        return shared.end() if shared else None

    def everywhere(self, body: str) -> Iterator[tuple[str, int, int]]:
        """Yield (letter, start, end) of every text, except inside a longer one."""
        for letter, pattern in self._patterns.items():
            for match in pattern.finditer(body):
                yield letter, match.start(), match.end()
            body = pattern.sub(lambda match: "\0" * len(match[0]), body)

    def beside(self, body: str, end: int, letter: str) -> int | None:
        """Return the end of a letter's own text directly after the letter; ``None`` if absent."""
        gap = _GAP.match(body, end)
        match = self.at(body, gap.end()) if gap else None
        if gap is None or match is None or match[0] != letter:
            return None
        if body[end - 1] in "Aa" and gap[0].isspace():
            # "a normal heart" is not option A, and neither is "A normal heart".
            phrase = body[end - 1] == "A" and AFTER_MENTION.match(body, match[1])
            return match[1] if phrase else None
        return match[1]

    def labels_another(self, body: str, end: int, letter: str) -> bool:
        """Whether a letter that ends at ``end`` is labelled with the text of another option."""
        gap = _GAP.match(body, end)
        match = self.at(body, gap.end()) if gap else None
        return match is not None and match[0] != letter and bool(_LABEL_END.match(body, match[1]))

    def _abbreviated(self, text: str) -> str | None:
        """Return the only letter whose text gives this one if several words are abbreviated."""
        reply_words = [match[0] for match in islice(_LETTERS.finditer(text), _MOST_WORDS + 1)]
        if len(reply_words) > _MOST_WORDS:
            return None
        short = [word for word in reply_words if _INITIALS.fullmatch(word)]
        if len(short) != 1:
            return None
        place, length = reply_words.index(short[0]), len(short[0])
        letters = []
        for letter, own in self._texts.items():
            words = _LETTERS.findall(own)
            initials = "".join(word[0] for word in words[place : place + length])
            abbreviated = [*words[:place], initials, *words[place + length :]]
            if len(initials) == length and _folded(abbreviated) == _folded(reply_words):
                letters.append(letter)
        return letters[0] if len(letters) == 1 else None

    def _distinctive_words(self, text: str) -> str | None:
        """Return the letter with the same words in another order, or identified by these words.

        "Left" matches "Left lung" if the other is "Right lung"; "glioma" does not match "Low-grade
        glioma". A one-letter word might be an option letter.
        """
        if self._has_foreign_word(text):
            return None
        reply_words = _content_words(text)
        reply_words -= _GENERAL - self._all_words
        if (
            not reply_words
            or len(reply_words) > _MOST_WORDS
            or any(len(w) == 1 and w.isalpha() for w in reply_words)
        ):
            return None
        holding = {key: words for key, words in self._words.items() if reply_words <= words}
        if len(holding) != 1:
            return None
        ((letter, words),) = holding.items()
        missing = words - reply_words
        if missing & _DENYING or reply_words <= _GENERAL:
            return None
        others = [own for key, own in self._words.items() if key != letter]
        distinctive = missing <= _GENERAL or any(missing <= other for other in others)
        return letter if distinctive else None

    def _has_foreign_word(self, text: str) -> bool:
        """Whether a word that distinguishes options is in none of them; stops at the first."""
        words = (_singular(match[0]) for match in _LETTERS.finditer(text.casefold()))
        return any(word not in self._usual_words for word in words)

    def _pattern(self, letter: str, text: str) -> re.Pattern[str]:
        loose = _compile(_loosely(text), text)
        others = (other for key, other in self._texts.items() if key != letter)
        if any(loose.fullmatch(other.strip(EDGES)) for other in others):
            return _compile(_exactly(text), text)
        return loose


def _folded(words: Sequence[str]) -> list[str]:
    return [word.casefold() for word in words]


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _content_words(text: str) -> frozenset[str]:
    """Return the content words of a text in the singular, numerals as digits."""
    return frozenset(map(_singular, _LETTERS.findall(text.casefold()))) - _FUNCTION_WORDS


def _singular(word: str) -> str:
    if word in _NUMBERS:
        return str(_NUMBERS.index(word))
    return word[:-1] if _PLURAL.fullmatch(word) else word


def _exactly(text: str) -> str:
    return r"\s+".join(map(re.escape, text.strip(EDGES).split())) or re.escape(text)


def _loosely(text: str) -> str:
    words = _WORD.findall(text)
    if not words or len(text.strip(EDGES)) == 1:
        return _exactly(text)
    parts = [_variants(words[0], first=True, last=len(words) == 1)]
    if words[0].casefold() in {"no", "without"} and len(words) > 1:
        parts = [rf"(?:no|without){_BETWEEN}{{1,4}}{_EVIDENCE}"]
    for before, word in pairwise(words):
        least = 1 if before[-1].isdigit() and word[0].isdigit() else 0
        numbered = word[0].isdigit() or word.upper() in _ROMAN
        between = rf"{_BETWEEN}{{{least},4}}"
        if least:
            between = rf"(?:{between}|\s+to\s+)"
        between = rf"{between}(?:{_KIND}{between})?" if numbered else _BRACKETED + between
        parts.append(between)
        parts.append(_variants(word, first=False, last=word is words[-1]))
    plural = "(?:s|es)?" if _PLURAL.fullmatch(words[-1] + "s") else ""
    return "".join(parts) + plural


def _variants(word: str, *, first: bool, last: bool) -> str:
    """Return a pattern for equivalent forms of a word: British, without apostrophe, IV for 4."""
    if not first and word.upper() in _ROMAN:
        return f"(?:{word}|{_ROMAN.index(word.upper())})"
    if not first and word.isdigit() and 0 < int(word) < len(_ROMAN):
        return f"(?:{word}|{_ROMAN[int(word)]})"
    pattern = re.escape(word)
    if word.isascii() and word.isalpha() and len(word) > _SHORT:
        pattern = _DIGRAPH.sub("[ao]?e", _OUR.sub("ou?r", pattern))
    return pattern.replace("'", "'?") + ("" if last or not word.isalpha() else "(?:'s)?")


def _compile(words: str, text: str) -> re.Pattern[str]:
    """Compile the words with word boundaries; Chinese text may adjoin a Latin letter."""
    bare = text.strip(EDGES) or " "
    head = rf"(?<![{CASED}])(?<![{CASED}]-)" if _BINDING.match(bare[0]) else ""
    tail = rf"(?![{CASED}])(?!-(?!sided\b)[{CASED}])" if _BINDING.match(bare[-1]) else ""
    return re.compile(f"{head}{words}{tail}", re.IGNORECASE)


_FEW = 2
_SHORT = 3
_BINDING = re.compile(rf"[{CASED}]")
_MOST_WORDS = 5
_INITIALS = re.compile(r"[A-Z]{2,5}")
_LETTERS = re.compile(r"[^\W_]+")
_PLURAL = re.compile(r"[a-z]{3,}[a-rtv-z]s|[a-z]{3,}[^siu]ss", re.IGNORECASE)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_FUNCTION_WORDS = frozenset({"an", "the", "of", "in", "on", "side", "with", "and"})
_DENYING = frozenset({"no", "non", "not", "without", "none", "absent", "absence", "negative"})
# Words that do not distinguish options.
_GENERAL = frozenset(
    {
        "abnormality",
        "area",
        "artery",
        "bone",
        "brain",
        "breast",
        "cell",
        "chest",
        "condition",
        "defect",
        "deficiency",
        "disease",
        "disorder",
        "finding",
        "grade",
        "heart",
        "image",
        "imaging",
        "infection",
        "injury",
        "kidney",
        "lesion",
        "liver",
        "lobe",
        "lung",
        "mucosa",
        "muscle",
        "nerve",
        "organ",
        "plane",
        "region",
        "scan",
        "skin",
        "stage",
        "syndrome",
        "system",
        "tissue",
        "tumor",
        "tumour",
        "type",
        "vein",
        "vessel",
        "view",
    }
)
_EVIDENCE = (
    r"(?:(?:(?:obvious|definite|clear|visible|significant|apparent|evident)\s+)?"
    r"(?:(?:signs?|evidence|features?|indications?|traces?)\s+of\s+)?(?:an?y?\s+)?)"
)
_GAP = re.compile(r"[\s.)\]:\"',(=\u2013\u2014-]{0,6}")
_LABEL_END = re.compile(r"\s*(?:$|\n|[.;)\]])")
_WORD = re.compile(r"[^\s/_,():;\"\u2013\u2014-]+")
_BETWEEN = r"[\s/_,():;\"\u2013\u2014-]"
# An abbreviation after its expansion: "long-axis (PLAX) view".
_BRACKETED = r"(?:\s*\([A-Z]{2,6}\))?"
_KIND = r"(?:category|grade|stage|class|type|score|level)"
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
# Edema, oedema; hemorrhage, haemorrhage; tumor, tumour.
_DIGRAPH = re.compile(r"[ao]e(?=[^aeiou\W])|(?<![aeiou])e(?=[^aeiou\W])", re.IGNORECASE)
_OUR = re.compile(r"ou?r(?=s?$)", re.IGNORECASE)
