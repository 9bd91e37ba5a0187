"""Read one choice at one place of a text: a letter that is really a letter, or an option's text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from medrcube.evaluate.answers import doubts, phrases, spans
from medrcube.evaluate.answers.option_text import EDGES, OptionTexts
from medrcube.evaluate.answers.phrases import CASED


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
    """Reads the letters and texts of one item's options in plain text.

    Attributes:
        letters: the item's own letters.
        texts: the texts of its options.
    """

    def __init__(self, options: Sequence[tuple[str, str]]) -> None:
        self.letters = frozenset(letter for letter, _ in options)
        self.texts = OptionTexts(options)

    def whole(self, body: str) -> str | None:
        """The letter, if the text is nothing but a letter or nothing but an option's text."""
        bare = body.strip(EDGES)
        return (self.texts.whole(bare) if len(bare) > 1 else None) or self.whole_letter(body)

    def whole_letter(self, line: str) -> str | None:
        """The letter, if the line is nothing but a letter."""
        line = line.strip()
        if repeated := _REPEATED.fullmatch(line):
            line = repeated["letter"]
        match = _WHOLE.match(line) if len(line) <= _LONGEST_BARE else None
        letter = match["letter"].upper() if match else None
        return letter if letter in self.letters else None

    def at(self, body: str, start: int, *, strict: bool = False) -> Choice:
        """What an announcement that ends at ``start`` announces.

        With ``strict`` a letter must end a phrase, and a text must not be in doubt.
        """
        start = _skip(body, start)
        if doubts.DENIED_TARGET.match(body, start):
            # "No", "None of the above" and "No mass" may be options.
            text = self._text(body, start, strict=strict)
            if text.verdict is Verdict.LETTER and _OPENING_END.match(body, text.end):
                return text
        while denied := doubts.DENIED_TARGET.match(body, start):
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
        opened = doubts.OPEN_ANSWER.match(body, start)
        return Choice(Verdict.OPEN, None, opened.end()) if opened else text

    def letter_at(self, body: str, start: int) -> Choice:
        """A letter that ends a phrase, as after "actually,"."""
        start = _skip(body, start)
        return self._letter(body, start, strict=True) or _nothing(start)

    def opening(self, body: str) -> Choice:
        """A reply that begins with its answer."""
        if len({m["letter"] for m in _SCORED.finditer(body)} & self.letters) > 1:
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
        letter, between = match["letter"], match["text"].strip(EDGES)
        joined = _JOIN.match(body, match.end("letter"))
        if joined and self._letter(body, _skip(body, joined.end()), strict=False):
            return Choice(Verdict.OPEN, None, match.end())
        if between and self.texts.whole(between) != letter.upper():
            return _nothing(match.end())
        if letter.upper() in self.letters:
            return Choice(Verdict.LETTER, letter.upper(), match.end())
        stray = letter.isupper() and letter != "I"
        return Choice(Verdict.OPEN if stray else Verdict.NOTHING, None, match.end())

    def letters_in(self, body: str, start: int) -> set[str]:
        """Own letters that stand alone in capitals after ``start``."""
        found = {match["letter"] for match in FREE_LETTER.finditer(body, start)}
        return found & self.letters

    def letters_not_denied(self, body: str, end: int) -> set[str]:
        """Letters that stand alone before ``end``, own or not, and are not said to be wrong."""
        return {
            match["letter"]
            for match in FREE_LETTER.finditer(body, 0, end)
            if not spans.denied(body, match.start(), match.end())
        } - {"I"}

    def _letter(
        self, body: str, start: int, *, strict: bool, opening: bool = False, alone: bool = False
    ) -> Choice | None:
        """A letter at a place; ``None`` when what stands there is a word, a term or an article."""
        match = _LETTER.match(body, start)
        if match is None or self._term(body, match.end()):
            return None
        letter, end = match["letter"].upper(), match.end()
        own = self.texts.beside(body, end, letter)
        article = match["letter"] in {"A", "I", "a"}
        if (strict or article or letter not in self.letters) and own is None:
            ends = _OPENING_LETTER if opening else _PHRASE_END
            if not (_LOWER_END if match["letter"] == "a" else ends).match(body, end):
                return None
        if strict and not opening and match["letter"] == "a" and own is None:
            return None
        if letter not in self.letters:
            return None if letter == "I" else Choice(Verdict.OPEN, None, end)
        if own is not None and self._list_goes_on(body, own):
            return _nothing(own)
        if own is None and self.texts.labels_another(body, end, letter):
            return Choice(Verdict.OPEN, None, end)
        end = end if own is None else own
        sure = doubts.LIKELIER.search(body, max(0, start - 20), start) is not None
        if not alone and self._joined(body, end, letter, sure=sure):
            return Choice(Verdict.OPEN, None, end)
        if doubts.DENIED_AFTER.match(body, end) or (not alone and self._all_denied(body, end)):
            return _nothing(end)
        return Choice(Verdict.LETTER, letter, end)

    def _term(self, body: str, end: int) -> bool:
        """Whether a letter belongs to what follows it: "B lines", "C/O"."""
        abbreviated = _ABBREVIATED.match(body, end)
        other = abbreviated is not None and abbreviated["second"] not in self.letters
        return other or phrases.TERM.match(body, end) is not None

    def _joined(self, body: str, end: int, letter: str, *, sure: bool) -> bool:
        """Whether another letter is named in the same breath: "A or B"; not "likely A, maybe B"."""
        join = _JOIN.match(body, end) or _NEXT_LETTER.match(body, end)
        if join is None or (sure and doubts.LESSER.match(join[0])):
            return False
        other = self._letter(body, _skip(body, join.end()), strict=False, alone=True)
        if other is None or other.letter == letter:
            return False
        return other.verdict is not Verdict.NOTHING or _ASKED.match(body, other.end) is not None

    def _all_denied(self, body: str, end: int) -> bool:
        """Whether the letter is one of several that are denied together: "A and B are out"."""
        join = _JOIN.match(body, end)
        other = (
            self._letter(body, _skip(body, join.end()), strict=False, alone=True) if join else None
        )
        if join is None or other is None or other.verdict is not Verdict.NOTHING:
            return False
        return _PLURAL.match(body, other.end) is not None

    def _text(self, body: str, start: int, *, strict: bool) -> Choice:
        article = _ARTICLE.match(body, start)
        start = article.end() if article else start
        found = self.texts.at(body, start)
        if found is None:
            return _nothing(start)
        letter, end = found
        carrier = phrases.CARRIER.match(body, end)
        end = carrier.end() if carrier else end
        if doubts.DENIED_AFTER.match(body, end) or not phrases.AFTER_MENTION.match(body, end):
            return _nothing(end)
        if strict and doubts.DOUBT.search(body[end : spans.sentence_end(body, end)]):
            return _nothing(end)
        joined = _JOIN_TEXT.match(body, end)
        other = self.texts.at(body, joined.end()) if joined else None
        behind = BEHIND.match(body, end)
        clash = behind and behind["letter"].upper() in self.letters - {letter}
        if other or clash:
            return Choice(Verdict.OPEN, None, end)
        return Choice(Verdict.LETTER, letter, end)

    def _list_goes_on(self, body: str, end: int) -> bool:
        head = _NEXT_HEAD.match(body, end)
        if head is None:
            return False
        following = self.texts.beside(body, head.end(), head["letter"])
        return following is not None and not doubts.DENIED_AFTER.match(body, following)


def _nothing(end: int) -> Choice:
    return Choice(Verdict.NOTHING, None, end)


def _skip(body: str, start: int) -> int:
    match = _DECORATION.match(body, start)
    return match.end() if match else start


FREE_LETTER = re.compile(
    rf"(?<![{CASED}])(?<![{CASED}]['-])(?P<letter>[A-Z])(?![{CASED}+%])(?!'[A-Za-z])(?!-[{CASED}])"
)
"""A capital that stands alone."""
BEHIND = re.compile(
    r"[\s,:]*[(\[]\s*(?:(?:option|choice|answer)\s*:?\s*)?(?P<letter>[A-Za-z])\s*[)\]]",
    re.IGNORECASE,
)
"""A letter in brackets behind a text."""

_LONGEST_BARE = 60
_DECORATION = re.compile(
    r"[\s\"'(\[:=>\u2013\u2014.-]*(?:(?:the\s+)?(?:option|choice|letter|选项|選項)\b\s*:?\s*[\"'(\[]*)?"
    r"[^\w\s?]*\s*",
    re.IGNORECASE,
)
_LETTER = re.compile(
    rf"(?P<letter>[A-Za-z])(?![{CASED}+%])(?!'[A-Za-z])(?!-[{CASED}])(?!\.[{CASED}](?![a-z]))[)\]\"'}}]*"
)
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
_INSTEAD = re.compile(
    r"[^.;\n]{0,60}?\b(?:but|rather|instead)\b\s*(?:rather\s+|instead\s+|(?:it(?:'s|\s+is)\s+))?",
    re.IGNORECASE,
)
_JOIN = re.compile(
    r"[\s\"')\].]*(?:[,/&+(]|\b(?:as\s+well\s+as|and\s*/\s*or|and|or|und|oder|et|ou|to|through|versus|vs)\b|和|还是|還是|或者?|与|與|及|跟|か|と|또는|와|과)\s*"
    r"(?:(?:and|or|but\s+also|also|possibly|maybe|perhaps|either|even|both|option|choice)\s+)*",
    re.IGNORECASE,
)
_NEXT_LETTER = re.compile(r"\s*[.);]\s*(?=[A-Z](?:[.,;)]|\s*$))")
_JOIN_TEXT = re.compile(
    r"\s*(?:[,;/&+]|\b(?:and|or|with|versus|vs)\b|和|或|与)\s*(?:(?:and|or|also|possibly|a|an|the)\s+)*",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:(?:a|an|the|some|probably|likely)\s+)+", re.IGNORECASE)
_ABBREVIATED = re.compile(r"/(?P<second>[A-Za-z]+)")
_PLURAL = re.compile(r"\s+(?:are|were|can|both)\b", re.IGNORECASE)
_ASKED = re.compile(r"\s*\?")
_SCORED = re.compile(rf"(?<![{CASED}])(?P<letter>[A-Z])[\s:=(-]{{1,4}}\d")
_NEXT_HEAD = re.compile(r"[\s,;|/]*[(\[]?(?P<letter>[A-Z])[.):\]]?")
_REPEATED = re.compile(r"[^\w?+%=]*(?P<letter>[A-Z])(?:[^\w?+%=]+(?P=letter))+[^\w?+%=]*")
_WHOLE = re.compile(
    r"^[^\w?]*(?:(?:option|choice|answer|letter|选项|選項)\s*:?\s*)?(?:\d{1,2}[.)]\s*)?[^\w?]*"
    r"(?P<letter>[A-Za-z])[^\w?+%=]*(?:选项|選項)?[^\w?+%=]*$",
    re.IGNORECASE,
)
