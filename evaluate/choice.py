"""Read one choice at one place of a text: a letter that is really a letter, or an option's text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from medrcube.evaluate import phrases
from medrcube.evaluate.phrases import CASED

DOUBTFUL = "?"


class Verdict(Enum):
    """What a place says."""

    NOTHING = auto()
    LETTER = auto()
    OPEN = auto()


class Choice(NamedTuple):
    """What stands at a place.

    Attributes:
        verdict: a letter, nothing, or an answer that is left open or contradicts itself.
        letter: the letter, for ``Verdict.LETTER``.
        end: where it ends.
    """

    verdict: Verdict
    letter: str | None
    end: int


class Reader:
    """Reads the letters and texts of one item's options in plain text."""

    def __init__(self, options: Sequence[tuple[str, str]]) -> None:
        self._texts = {letter: text for letter, text in options if text}
        # Longest first: an option's text may stand inside another's.
        ordered = sorted(self._texts.items(), key=lambda option: -len(option[1]))
        self._patterns = {letter: _pattern(text) for letter, text in ordered}
        self._letters = frozenset(letter for letter, _ in options)

    def whole(self, body: str) -> str | None:
        """The letter, if the text is nothing but a letter or nothing but an option's text."""
        bare = body.strip(_EDGES)
        for letter, text in self._texts.items():
            if bare.casefold() == text.strip(_EDGES).casefold() and len(bare) > 1:
                return letter
        return self.whole_letter(body)

    def whole_letter(self, line: str) -> str | None:
        """The letter, if the line is nothing but a letter."""
        line = line.strip()
        match = _WHOLE.match(line) if len(line) <= _LONGEST_BARE else None
        letter = match["letter"].upper() if match else None
        return letter if letter in self._letters else None

    def at(self, body: str, start: int, *, strict: bool = False) -> Choice:
        """What an announcement that ends at ``start`` announces.

        With ``strict`` a letter must end a phrase, and a text must not be in doubt.
        """
        start = _skip(body, start)
        while denied := phrases.DENIED_TARGET.match(body, start):
            instead = _INSTEAD.match(body, denied.end())
            if instead is None:
                return _nothing(start)
            start = _skip(body, instead.end())
        letter = self._letter(body, start, strict=strict)
        if letter is not None:
            return letter
        text = self._text(body, start, strict=strict)
        if text.verdict is not Verdict.NOTHING:
            return text
        opened = phrases.OPEN_ANSWER.match(body, start)
        return Choice(Verdict.OPEN, None, opened.end()) if opened else text

    def letter_at(self, body: str, start: int) -> Choice:
        """A letter that ends a phrase, as after "actually,"."""
        start = _skip(body, start)
        return self._letter(body, start, strict=True) or _nothing(start)

    def opening(self, body: str) -> Choice:
        """A reply that begins with its answer."""
        if len({m["letter"] for m in _LINE_HEAD.finditer(body)} & self._letters) > 1:
            return _nothing(0)
        if len({m["letter"] for m in _SCORED.finditer(body)} & self._letters) > 1:
            return _nothing(0)
        start = _skip(body, 0)
        letter = self._letter(body, start, strict=True, opening=True)
        if letter is not None:
            return letter
        text = self._text(body, start, strict=False)
        if text.verdict is Verdict.LETTER and not _OPENING_END.match(body, text.end):
            return _nothing(start)
        return text

    def subject(self, body: str, match: re.Match[str]) -> Choice:
        """What a verdict ("B is correct") is about."""
        letter, between = match["letter"], match["text"].strip(_EDGES)
        joined = _JOIN.match(body, match.end("letter"))
        if joined and self._letter(body, _skip(body, joined.end()), strict=False):
            return Choice(Verdict.OPEN, None, match.end())
        own = self._texts.get(letter.upper())
        if between and (own is None or between.casefold() != own.strip(_EDGES).casefold()):
            return _nothing(match.end())
        if letter.upper() in self._letters:
            return Choice(Verdict.LETTER, letter.upper(), match.end())
        stray = letter.isupper() and letter != "I"
        return Choice(Verdict.OPEN if stray else Verdict.NOTHING, None, match.end())

    def without_lists(self, body: str) -> str:
        """The text with restated options blanked out, every position kept."""
        pairs = [
            (match.start(), text.end(), match["letter"])
            for match in _LIST_HEAD.finditer(body)
            if (text := self._own_text(body, match.end(), match["letter"]))
        ]
        if len({letter for _, _, letter in pairs}) < 2:
            return body
        for index, (start, end, _) in enumerate(pairs):
            before = body[pairs[index - 1][1] : start] if index else None
            after = body[end : pairs[index + 1][0]] if index + 1 < len(pairs) else None
            near = any(
                gap is not None and ("\n" in gap or not gap.strip(_EDGES))
                for gap in (before, after)
            )
            if near:
                body = body[:start] + " " * (end - start) + body[end:]
        return body

    def pairs(self, body: str) -> set[str]:
        """Letters beside their own text or called an option; ``DOUBTFUL`` for one in doubt."""
        places: list[tuple[int, int, str]] = []
        for match in _FREE_LETTER.finditer(body):
            letter = match["letter"].upper()
            text = self._own_text(body, match.end(), letter)
            if text:
                places.append((match.start(), text.end(), letter))
        for letter, start, end in self._all_texts(body):
            behind = _BEHIND.match(body, end)
            if behind and behind["letter"].upper() == letter:
                places.append((start, behind.end(), letter))
        for match in _NAMED.finditer(body):
            letter = match["letter"].upper()
            if letter in self._letters:
                places.append((match.start(), match.end(), letter))
        found = set()
        for start, end, letter in places:
            if _denied(body, start, end):
                continue
            doubtful = phrases.DOUBT.search(_NAMED.sub(" ", _sentence(body, start, end)))
            found.add(DOUBTFUL if doubtful else letter)
        return found

    def mentions(self, body: str) -> dict[str, bool]:
        """Letters whose text is asserted somewhere, and whether beyond doubt."""
        found: dict[str, bool] = {}
        for letter, start, end in self._all_texts(body):
            if _denied(body, start, end):
                continue
            before = phrases.after_contrast(body[_sentence_start(body, start) : start])
            sentence = before + " " + body[end : _sentence_end(body, end)]
            sure = (
                (end - start > 2 or not body[start:end].isascii())
                and phrases.AFTER_MENTION.match(body, end) is not None
                and phrases.DOUBT.search(sentence) is None
            )
            found[letter] = found.get(letter, True) and sure
        return found

    def letters_in(self, body: str, start: int) -> set[str]:
        """Own letters that stand alone in capitals after ``start``."""
        found = {match["letter"] for match in _FREE_LETTER.finditer(body, start)}
        return found & self._letters

    def _letter(
        self, body: str, start: int, *, strict: bool, opening: bool = False, alone: bool = False
    ) -> Choice | None:
        """A letter at a place; ``None`` when what stands there is a word, a term or an article."""
        match = _LETTER.match(body, start)
        if match is None or _TERM.match(body, match.end()):
            return None
        letter, end = match["letter"].upper(), match.end()
        own = self._own_text(body, end, letter)
        article = match["letter"] in {"A", "I", "a"}
        if (strict or article or letter not in self._letters) and not own:
            ends = _OPENING_LETTER if opening else _PHRASE_END
            if not (_LOWER_END if match["letter"] == "a" else ends).match(body, end):
                return None
        if letter not in self._letters:
            return None if letter == "I" else Choice(Verdict.OPEN, None, end)
        if own and self._list_goes_on(body, own.end()):
            return _nothing(own.end())
        if not own and self._label_of_another(body, end):
            return Choice(Verdict.OPEN, None, end)
        end = own.end() if own else end
        if not alone and self._joined(body, end, letter):
            return Choice(Verdict.OPEN, None, end)
        if phrases.DENIED_AFTER.match(body, end):
            return _nothing(end)
        return Choice(Verdict.LETTER, letter, end)

    def _joined(self, body: str, end: int, letter: str) -> bool:
        """Whether another letter is named in the same breath: "A or B"."""
        join = _JOIN.match(body, end) or _NEXT_LETTER.match(body, end)
        if join is None:
            return False
        other = self._letter(body, _skip(body, join.end()), strict=False, alone=True)
        if other is None or other.letter == letter:
            return False
        return other.verdict is not Verdict.NOTHING or _ASKED.match(body, other.end) is not None

    def _text(self, body: str, start: int, *, strict: bool) -> Choice:
        article = _ARTICLE.match(body, start)
        start = article.end() if article else start
        found = self._text_at(body, start)
        if found is None:
            return _nothing(start)
        letter, end = found
        if phrases.DENIED_AFTER.match(body, end) or not phrases.AFTER_MENTION.match(body, end):
            return _nothing(end)
        if strict and phrases.DOUBT.search(body[end : _sentence_end(body, end)]):
            return _nothing(end)
        joined = _JOIN_TEXT.match(body, end)
        other = self._text_at(body, joined.end()) if joined else None
        behind = _BEHIND.match(body, end)
        clash = behind and behind["letter"].upper() in self._letters - {letter}
        if other or clash:
            return Choice(Verdict.OPEN, None, end)
        return Choice(Verdict.LETTER, letter, end)

    def _text_at(self, body: str, start: int) -> tuple[str, int] | None:
        for letter, pattern in self._patterns.items():
            match = pattern.match(body, start)
            if match:
                return letter, match.end()
        return None

    def _all_texts(self, body: str) -> Iterator[tuple[str, int, int]]:
        """(letter, start, end) of every option's text; one inside a longer one does not count."""
        for letter, pattern in self._patterns.items():
            for match in pattern.finditer(body):
                yield letter, match.start(), match.end()
            body = pattern.sub(lambda match: "\0" * len(match[0]), body)

    def _own_text(self, body: str, end: int, letter: str) -> re.Match[str] | None:
        pattern = self._patterns.get(letter)
        gap = _GAP.match(body, end)
        if pattern is None or gap is None:
            return None
        match = pattern.match(body, gap.end())
        longest = self._text_at(body, gap.end())
        if match is None or longest is None or longest[0] != letter:
            return None
        if body[end - 1] in "Aa" and gap[0].isspace():
            # "a normal heart" is no option A, and neither is "A normal heart".
            phrase = body[end - 1] == "A" and phrases.AFTER_MENTION.match(body, match.end())
            return match if phrase else None
        return match

    def _label_of_another(self, body: str, end: int) -> bool:
        """Whether the letter is labelled with the text of another option."""
        gap = _GAP.match(body, end)
        found = self._text_at(body, gap.end()) if gap else None
        return found is not None and _LABEL_END.match(body, found[1]) is not None

    def _list_goes_on(self, body: str, end: int) -> bool:
        head = _NEXT_HEAD.match(body, end)
        return head is not None and self._own_text(body, head.end(), head["letter"]) is not None


def _pattern(text: str) -> re.Pattern[str]:
    words = r"\s+".join(re.escape(word) for word in text.strip(_EDGES).split()) or re.escape(text)
    return re.compile(
        rf"(?<![{CASED}])(?<![{CASED}]-){words}(?![{CASED}])(?!-[{CASED}])", re.IGNORECASE
    )


def _nothing(end: int) -> Choice:
    return Choice(Verdict.NOTHING, None, end)


def _skip(body: str, start: int) -> int:
    match = _DECORATION.match(body, start)
    return match.end() if match else start


def _denied(body: str, start: int, end: int) -> bool:
    before = body[_sentence_start(body, start) : start]
    return bool(phrases.DENIED_MENTION.search(before) or phrases.DENIED_AFTER.match(body, end))


def _sentence(body: str, start: int, end: int) -> str:
    return body[_sentence_start(body, start) : _sentence_end(body, end)]


def _sentence_start(body: str, start: int) -> int:
    nearest = max(0, start - _LONGEST_SENTENCE)
    ends = [match.end() for match in _STOP.finditer(body, nearest, start)]
    return ends[-1] if ends else nearest


def _sentence_end(body: str, end: int) -> int:
    furthest = min(len(body), end + _LONGEST_SENTENCE)
    match = _STOP.search(body, end, furthest)
    return match.end() if match else furthest


_LONGEST_SENTENCE = 500
_LONGEST_BARE = 60
_EDGES = " \t\n.,:;!()[]\"'-\u2013\u2014"
_STOP = re.compile(r"[.;!?](?=\s|$)|\n")
_DECORATION = re.compile(
    r"[\s\"'(\[:=>\u2013\u2014.-]*(?:(?:the\s+)?(?:option|choice|letter|选项|選項)\b\s*:?\s*[\"'(\[]*)?"
    r"[^\w\s?]*\s*",
    re.IGNORECASE,
)
_LETTER = re.compile(
    rf"(?P<letter>[A-Za-z])(?![{CASED}+%])(?!'[A-Za-z])(?!-[{CASED}])(?!\.[{CASED}](?![a-z]))[)\]\"'}}]*"
)
_FREE_LETTER = re.compile(
    rf"(?<![{CASED}])(?<![{CASED}]['-])(?P<letter>[A-Z])(?![{CASED}+%])(?!'[A-Za-z])(?!-[{CASED}])"
)
_TERM = re.compile(
    r"\s+(?:lines?|cells?|spine|arm|dimers?|sections?|mode|waves?|fibres|fibers|deficiency)\b",
    re.IGNORECASE,
)
_GAP = re.compile(r"[\s.)\]:\"',(=\u2013\u2014-]{0,6}")
_ENDING = (
    rf"\s*(?:$|\n|[,;:)\]\"'!/&(=]|\.(?![{CASED}])|[\u2013\u2014]|-\s|\b(?:because|since|as|due|given|based|for|but|rather"
    r"|over|instead|according|and|or|not|if|unless|with\s+(?:high|low|\d)|which|both|from\s+the)\b|[^\x00-\u024f])"
)
_PHRASE_END = re.compile(
    _ENDING + r"|\s+(?:is|are|was|were|both|would|seems|appears|by)\b", re.IGNORECASE
)
_OPENING_LETTER = re.compile(rf"(?!\.\s+[a-z]){_ENDING}", re.DOTALL)
_LOWER_END = re.compile(r"\s*(?:$|\n|[.,;:)\]\"'!/])")
_OPENING_END = re.compile(
    r"\s*(?:$|\n|[.;:)\]!\u2013\u2014]|\s-\s|,(?!\s*(?:but|however|with|and|or|although)\b))"
)
_LABEL_END = re.compile(r"\s*(?:$|\n|[.;)\]])")
_INSTEAD = re.compile(
    r"[^.;\n]{0,60}?\b(?:but|rather|instead)\b\s*(?:rather\s+|instead\s+|(?:it(?:'s|\s+is)\s+))?",
    re.IGNORECASE,
)

_JOIN = re.compile(
    r"[\s\"')\].]*(?:[,/&+(]|\b(?:as\s+well\s+as|and\s*/\s*or|and|or|und|oder|et|ou|to|through|versus|vs)\b|和|或者?|与|與|及|跟|か|と|또는|와|과)\s*"
    r"(?:(?:and|or|but\s+also|also|possibly|maybe|perhaps|either|even|both|option|choice)\s+)*",
    re.IGNORECASE,
)
_NEXT_LETTER = re.compile(r"\s*[.);]\s*(?=[A-Z](?:[.,;)]|\s*$))")
_JOIN_TEXT = re.compile(
    r"\s*(?:[,;/&+]|\b(?:and|or|with|versus|vs)\b|和|或|与)\s*(?:(?:and|or|also|possibly|a|an|the)\s+)*",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:(?:a|an|the|some|probably|likely)\s+)+", re.IGNORECASE)
_BEHIND = re.compile(
    r"[\s,:]*[(\[]\s*(?:(?:option|choice|answer)\s*:?\s*)?(?P<letter>[A-Za-z])\s*[)\]]",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"\b(?:option|choice|answer|选项|選項)\s*[(\[\"']*(?P<letter>[A-Z])(?![{CASED}'-])"
    rf"|(?<![{CASED}])(?P<behind>[A-Z])\s*(?:选项|選項)",
)
_ASKED = re.compile(r"\s*\?")
_SCORED = re.compile(rf"(?<![{CASED}])(?P<letter>[A-Z])[\s:=(-]{{1,4}}\d")
_LINE_HEAD = re.compile(r"^\s*[(\[]?(?P<letter>[A-Z])[.):\]](?=\s)", re.MULTILINE)
_LIST_HEAD = re.compile(rf"(?<![{CASED}])(?P<letter>[A-Z])[)\].:]?\s*(?=\S)")
_NEXT_HEAD = re.compile(r"[\s,;|/]*[(\[]?(?P<letter>[A-Z])[.):\]]?")
_WHOLE = re.compile(
    r"^[^\w?]*(?:(?:option|choice|answer|letter|选项|選項)\s*:?\s*)?(?:\d{1,2}[.)]\s*)?[^\w?]*"
    r"(?P<letter>[A-Za-z])[^\w?+%=]*(?:选项|選項)?[^\w?+%=]*$",
    re.IGNORECASE,
)
