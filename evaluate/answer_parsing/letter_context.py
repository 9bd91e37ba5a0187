"""Distinguish option letters from articles and from parts of medical terms."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from medrcube.evaluate.answer_parsing import answer_phrases, hedging, sentence_spans
from medrcube.evaluate.answer_parsing.answer_phrases import CASED

__all__ = [
    "FREE_LETTER",
    "in_term",
    "is_word",
    "letters_after",
    "resolve_ordinals",
    "undenied_letters_before",
]

FREE_LETTER = re.compile(
    rf"(?<![{CASED}])(?<![{CASED}]['-])(?P<letter>[A-Z])(?![{CASED}+%])(?!'[A-Za-z])(?!-[{CASED}])"
)
"""A lone capital letter."""


def resolve_ordinals(body: str, own: Iterable[str]) -> str:
    """Replace ordinals in the text: "the second option" becomes "option B"."""
    letters = sorted(own)

    def with_letter(match: re.Match[str]) -> str:
        # Where case is ignored, the pattern's i matches a dotless i too.
        place = match["place"].casefold().replace("\u0131", "i")
        index = len(letters) - 1 if place == "last" else answer_phrases.PLACES.index(place)
        return f"option {letters[index]}" if index < len(letters) else match[0]

    return answer_phrases.ORDINAL.sub(with_letter, body)


def in_term(body: str, end: int, own: Container[str]) -> bool:
    """Whether a letter and what follows it form a term: "B lines", "C/O"."""
    abbreviated = _ABBREVIATED.match(body, end)
    other = abbreviated is not None and abbreviated["second"] not in own
    return other or answer_phrases.TERM.match(body, end) is not None


def is_word(body: str, match: re.Match[str], own: Container[str]) -> bool:
    """Whether a lone capital is an article or part of a term."""
    article = match["letter"] == "A" and _ARTICLE_OF.match(body, match.end()) is not None
    near = max(0, match.start() - _FARTHEST)
    labelled = _TERM_BEFORE.search(body, near, match.start()) is not None
    return article or labelled or in_term(body, match.end(), own)


def letters_after(body: str, start: int, own: frozenset[str]) -> set[str]:
    """Return lone letters of the item's options after ``start``."""
    matches = FREE_LETTER.finditer(body, start)
    return {match["letter"] for match in matches if not is_word(body, match, own)} & own


def undenied_letters_before(body: str, end: int) -> set[str]:
    """Return lone letters before ``end``, of an option or not, that are not rejected."""
    return {
        match["letter"]
        for match in FREE_LETTER.finditer(body, 0, end)
        if not (match["letter"] == "A" and _ARTICLE_OF.match(body, match.end()))
        and not sentence_spans.is_denied(body, match.start(), match.end())
        and hedging.is_asserted(hedging.clause_before(body, match.start()))
    } - {"I"}


_FARTHEST = 40
_ARTICLE_OF = re.compile(
    r"[^\S\n]+(?!is\b|seems\b|looks\b|appears\b|as\b|because\b|i\b|it\b|for\b|or\b|and\b|but\b|would\b|was\b|best\b"
    r"|better\b|more\b|most\b|the\b|fits\b|to\s+me\b|stands\b|definitely\b|probably\b)[a-z]"
)
# A noun that is named by a letter.
_TERM_BEFORE = re.compile(
    r"\b(?:vitamin|hepatitis|influenza|type|grade|stage|class|group|category|zone|figure|fig\.?|panel|image|picture|lesion|patient|plan"
    r"|arrow|points?|lead|segment|level|area|region|structure|protein|factor|phase|score|lobe|view|case|dr\.?|apolipoprotein"
    r"|ha?emoglobin|immunoglobulin|ha?emophilia|complex|line|density)\s+$",
    re.IGNORECASE,
)
_ABBREVIATED = re.compile(r"/(?P<second>[A-Za-z]+)")
