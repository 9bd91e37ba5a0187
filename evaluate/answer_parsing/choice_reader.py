"""Match an option's letter or text at a given position of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from medrcube.evaluate.answer_parsing import answer_phrases, hedging, letter_context, sentence_spans
from medrcube.evaluate.answer_parsing.answer_phrases import CASED
from medrcube.evaluate.answer_parsing.option_text import EDGES, OptionTexts
from medrcube.evaluate.answer_parsing.stance import OptionStance, stance

__all__ = ["BEHIND", "ChoiceKind", "ChoiceMatch", "ChoiceReader"]


class ChoiceKind(Enum):
    """Kind of choice at a position."""

    NOTHING = auto()
    LETTER = auto()
    UNDECIDED = auto()


class ChoiceMatch(NamedTuple):
    """Choice matched at a position.

    Attributes:
        kind: a letter, nothing, or an undecided or contradictory answer.
        letter: the letter, for ``ChoiceKind.LETTER``.
        end: end of the match.
    """

    kind: ChoiceKind
    letter: str | None
    end: int


class ChoiceReader:
    """Matches the letters and texts of one item's options in text without markup.

    Attributes:
        letters: the item's own letters.
        texts: the texts of its options.
    """

    def __init__(self, options: Sequence[tuple[str, str]]) -> None:
        self.letters = frozenset(letter for letter, _ in options)
        self.texts = OptionTexts(options)

    def whole(self, body: str) -> str | None:
        """Return the letter if the text is nothing but a letter or an option's text."""
        bare = body.strip(EDGES)
        if "?" in bare:
            return self.whole_letter(body)
        return (self.texts.whole(bare) if len(bare) > 1 else None) or self.whole_letter(body)

    def whole_letter(self, line: str) -> str | None:
        """Return the letter if the line is nothing but a letter."""
        line = line.strip()
        if repeated := _REPEATED.fullmatch(line):
            line = repeated["letter"]
        match = _WHOLE.match(line) if len(line) <= _LONGEST_BARE else None
        letter = match["letter"].upper() if match else None
        return letter if letter in self.letters else None

    def labelled_line(self, line: str) -> str | None:
        """Return the letter if the line is nothing but a letter with its own text."""
        bare = line.strip(EDGES)
        if len(bare) < _LEAST_LABELLED or bare[0] not in self.letters:
            return None
        return bare[0] if self.texts.beside(bare, 1, bare[0]) == len(bare) else None

    def at(self, body: str, start: int, *, strict: bool = False) -> ChoiceMatch:
        """Return the choice announced by a phrase that ends at ``start``.

        With ``strict``, a letter must end a phrase, and a text must be unambiguous.
        """
        start = _skip(body, start)
        if hedging.DENIED_TARGET.match(body, start):
            # "No", "None of the above" and "No mass" may be options.
            text = self._text(body, start, strict=strict)
            if text.kind is ChoiceKind.LETTER and _OPENING_END.match(body, text.end):
                return text
        while denied := hedging.DENIED_TARGET.match(body, start):
            instead = _INSTEAD.match(body, denied.end())
            if instead is None:
                return _nothing(start)
            start = _skip(body, instead.end())
        letter = self._letter(body, start, strict=strict)
        if letter is not None:
            return letter
        text = self._text(body, start, strict=strict)
        if text.kind is not ChoiceKind.NOTHING:
            return text
        opened = hedging.OPEN_ANSWER.match(body, start)
        return ChoiceMatch(ChoiceKind.UNDECIDED, None, opened.end()) if opened else text

    def letter_at(self, body: str, start: int) -> ChoiceMatch:
        """Return a letter that ends a phrase, as after "actually,"."""
        start = _skip(body, start)
        return self._letter(body, start, strict=True) or _nothing(start)

    def opening(self, body: str) -> ChoiceMatch:
        """Return the choice at the start of a reply."""
        if len({m["letter"] for m in _SCORED.finditer(body)} & self.letters) > 1:
            return _nothing(0)
        if row := _LETTERS_ONLY.match(body):
            return ChoiceMatch(ChoiceKind.UNDECIDED, None, row.end())
        start = _skip(body, 0)
        letter = self._letter(body, start, strict=True, opening=True)
        if letter is not None:
            return letter
        text = self._text(body, start, strict=False)
        if text.kind is ChoiceKind.LETTER and not _OPENING_END.match(body, text.end):
            return _nothing(start)
        return text

    def subject(self, body: str, match: re.Match[str]) -> ChoiceMatch:
        """Return the choice that a verdict ("B is correct") is about."""
        letter, between = match["letter"], match["text"].strip(EDGES)
        joined = _JOIN.match(body, match.end("letter"))
        if joined and self._letter(body, _skip(body, joined.end()), strict=False):
            return ChoiceMatch(ChoiceKind.UNDECIDED, None, match.end())
        if between and self.texts.whole(between) != letter.upper():
            return _nothing(match.end())
        if letter.upper() in self.letters:
            return ChoiceMatch(ChoiceKind.LETTER, letter.upper(), match.end())
        stray = letter.isupper() and letter != "I"
        return ChoiceMatch(ChoiceKind.UNDECIDED if stray else ChoiceKind.NOTHING, None, match.end())

    def _letter(
        self, body: str, start: int, *, strict: bool, opening: bool = False, alone: bool = False
    ) -> ChoiceMatch | None:
        """Match a letter at a position; ``None`` for a word, a medical term or an article."""
        match = _LETTER.match(body, start)
        if match is None or letter_context.in_term(body, match.end(), self.letters):
            return None
        letter, end = match["letter"].upper(), match.end()
        own = self.texts.beside(body, end, letter)
        bracketed = body[end - 1] in ")]"
        if own is None and bracketed and self.texts.labels_another(body, end, letter):
            return ChoiceMatch(ChoiceKind.UNDECIDED, None, end)
        article = match["letter"] in {"A", "I", "a"}
        if own is None:
            loose = not (strict or article or letter not in self.letters)
            if not (loose or _ends_phrase(body, match, strict=strict, opening=opening)):
                return None
        if letter not in self.letters:
            return None if letter == "I" else ChoiceMatch(ChoiceKind.UNDECIDED, None, end)
        if own is not None and self._list_goes_on(body, own):
            return _nothing(own)
        if own is None and self.texts.labels_another(body, end, letter):
            return ChoiceMatch(ChoiceKind.UNDECIDED, None, end)
        # "A grasper and a hook" is not option A with its text.
        phrase = article and own is not None and body[end].isspace()
        end = end if own is None else own
        if phrase and self._text_joined(body, end):
            return ChoiceMatch(ChoiceKind.UNDECIDED, None, end)
        if strict and hedging.POSSIBLE_AFTER.match(body, end):
            return _nothing(end)
        return self._judged(body, start, end, letter, alone=alone)

    def _judged(self, body: str, start: int, end: int, letter: str, *, alone: bool) -> ChoiceMatch:
        """Return the letter, unless another is joined to it or the following text rejects it."""
        sure = hedging.LIKELIER.search(body, max(0, start - 20), start) is not None
        if not alone and self._joined(body, end, letter, sure=sure):
            return ChoiceMatch(ChoiceKind.UNDECIDED, None, end)
        if hedging.denied_behind(body, end):
            return _nothing(end)
        return ChoiceMatch(ChoiceKind.LETTER, letter, end)

    def _joined(self, body: str, end: int, letter: str, *, sure: bool) -> bool:
        """Whether another letter is joined to it ("A or B"); not in "likely A, maybe B"."""
        join = _JOIN.match(body, end) or _NEXT_LETTER.match(body, end)
        if join is None or (sure and hedging.LESSER.match(join[0])):
            return False
        other = self._letter(body, _skip(body, join.end()), strict=False, alone=True)
        if other is None or other.letter == letter:
            return False
        if join[0].rstrip().endswith("(") and body[other.end - 1] != ")":
            return False
        return (
            other.kind is not ChoiceKind.NOTHING
            or _QUESTION_MARK.match(body, other.end) is not None
        )

    def _text(self, body: str, start: int, *, strict: bool) -> ChoiceMatch:
        article = _ARTICLE.match(body, start)
        start = article.end() if article else start
        match = self.texts.at(body, start)
        if match is None:
            return _nothing(start)
        letter, end = match
        end = self.texts.carried(body, end) or end
        if hedging.DENIED_AFTER.match(body, end) or not answer_phrases.AFTER_MENTION.match(
            body, end
        ):
            return _nothing(end)
        if strict and hedging.DOUBT.search(body[end : sentence_spans.sentence_end(body, end)]):
            return _nothing(end)
        if strict and stance(body, start, end) is OptionStance.MENTIONED:
            return _nothing(end)
        other = self._text_joined(body, end)
        behind = BEHIND.match(body, end)
        clash = behind and behind["letter"].upper() in self.letters - {letter}
        if other or clash:
            return ChoiceMatch(ChoiceKind.UNDECIDED, None, end)
        return ChoiceMatch(ChoiceKind.LETTER, letter, end)

    def _text_joined(self, body: str, end: int) -> bool:
        """Whether another option's text is joined to one that ends at ``end``."""
        join = _JOIN_TEXT.match(body, end)
        other = self.texts.at(body, join.end()) if join else None
        if join is None or other is None:
            return False
        if ";" in join[0] and body[other[1] :].strip(EDGES):
            return False
        return stance(body, join.end(), other[1]) not in {
            OptionStance.DENIED,
            OptionStance.MENTIONED,
        }

    def _list_goes_on(self, body: str, end: int) -> bool:
        head = _NEXT_HEAD.match(body, end)
        if head is None:
            return False
        following = self.texts.beside(body, head.end(), head["letter"])
        return following is not None and not hedging.DENIED_AFTER.match(body, following)


def _nothing(end: int) -> ChoiceMatch:
    return ChoiceMatch(ChoiceKind.NOTHING, None, end)


def _ends_phrase(body: str, match: re.Match[str], *, strict: bool, opening: bool) -> bool:
    """Whether a letter without its text ends a phrase, or labels the start of a reply."""
    end = match.end()
    if match["letter"] == "a":
        return (opening or not strict) and _LOWER_END.match(body, end) is not None
    labels = opening and body[end - 1] in ")]"
    ends = _LABEL if labels else _OPENING_LETTER if opening else _PHRASE_END
    return ends.match(body, end) is not None


def _skip(body: str, start: int) -> int:
    match = _DECORATION.match(body, start)
    return match.end() if match else start


BEHIND = re.compile(
    r"[\s,:]*(?:(?P<open>[(\[])|=|->|\u2192|(?<=,\s)(?=(?:option|choice|answer)\b))\s*(?:(?:option|choice|answer)\s*:?\s*)?"
    rf"(?P<letter>[A-Za-z])(?![{CASED}])(?(open)\s*[)\]])",
    re.IGNORECASE,
)
"""A letter in parentheses after an option's text."""

_LONGEST_BARE = 60
_LEAST_LABELLED = 3
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
    r"|over|instead|according|and|or|not|if|unless|with\s+(?:high|low|\d)|which|both|to\s+me|from\s+the)\b|[^\x00-\u024f])"
)
_PHRASE_END = re.compile(
    _ENDING + r"|\s+(?:is|are|was|were|both|would|seems|appears|by)\b", re.IGNORECASE
)
_OPENING_LETTER = re.compile(rf"(?!\.\s+[a-z]){_ENDING}", re.DOTALL)
_LABEL = re.compile(rf"{_ENDING}|\s+(?=[A-Z][a-z])[^\n()]+(?:$|\n)")
_LOWER_END = re.compile(r"\s*(?:$|\n|[.,;:)\]\"'!/])")
_OPENING_END = re.compile(
    r"\s*(?:$|\n|[.;:)\]!\u2013\u2014]|\s-\s|,(?!\s*(?:but|however|with|and|or|although)\b))"
)
_INSTEAD = re.compile(
    r"(?<=\bno),\s+(?:it(?:'s|\s+is)\s+)?|[^.;\n]{0,60}?\b(?:but|rather|instead)\b\s*(?:rather\s+|instead\s+|(?:it(?:'s|\s+is)\s+))?",
    re.IGNORECASE,
)
_JOIN = re.compile(
    r"[\s\"')\].]*(?:[,/&+(]|\b(?:as\s+well\s+as|and\s*/\s*or|and|or|und|oder|et|ou|to|through|versus|vs)\b|和|还是|還是|或者?|与|與|及|跟|か|と|또는|와|과)\s*"
    r"(?:(?:and|or|but\s+also|also|possibly|maybe|perhaps|either|even|both|option|choice)\s+)*(?:选择?|是)?",
    re.IGNORECASE,
)
_NEXT_LETTER = re.compile(r"\s*[.);]\s*(?=[A-Z](?:[.,;)]|\s*$))")
_JOIN_TEXT = re.compile(
    r"\s*(?:[,/&+;]|\b(?:and|or|with|versus|vs)\b|和|或|与)\s*(?:(?:and|or|also|possibly|a|an|the)\s+)*",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:(?:a|an|the|some|probably|likely)\s+)+", re.IGNORECASE)
_QUESTION_MARK = re.compile(r"\s*\?")
_LETTERS_ONLY = re.compile(r"\W*(?P<first>[A-Z])(?:[^\w\n]+(?!(?P=first))[A-Z])+[^\w\n]*(?:\n|$)")
_SCORED = re.compile(rf"(?<![{CASED}])(?P<letter>[A-Z])[\s:=(-]{{1,4}}\d")
_NEXT_HEAD = re.compile(r"[\s,;|/]*[(\[]?(?P<letter>[A-Z])[.):\]]?")
_REPEATED = re.compile(r"[^\w?+%=]*(?P<letter>[A-Z])(?:[^\w?+%=]+(?P=letter))+[^\w?+%=]*")
_WHOLE = re.compile(
    r"^[^\w?]*(?:(?:so|ok|okay|well|then|thus|hence|yes|alright|right|sure|finally|overall|again|therefore|nevertheless|still"
    r"|probably|tentatively|presumably|definitely|certainly|clearly|most\s+likely"
    r"|in\s+my\s+(?:view|opinion))\b[\s,:.-]+)*(?:(?:option|choice|answer|letter|选项|選項)\s*:?\s*)?(?:\d{1,2}[.)]\s*)?[^\w?]*"
    r"(?P<letter>[A-Za-z])[^\w?+%=]*(?:选项|選項|then|indeed|it\s+is|for\s+sure|i\s+(?:think|guess|believe))?[^\w?+%=]*$",
    re.IGNORECASE,
)
