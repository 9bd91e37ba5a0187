"""Parse yes or no for two statements from a text, or abstain."""

from __future__ import annotations

import re

from medrcube.evaluate.answer_parsing.markup_removal import strip_markup
from medrcube.evaluate.answer_parsing.open_forms.part_reading import PartReading
from medrcube.forms.pair import PairAsk

__all__ = ["read_pair_part"]

_YES = frozenset({"yes", "true", "y"})
_WORD = re.compile(
    r"(?<![\w'-])(?<!\bnot\s)(?<!n['\u2019]t\s)(?P<word>yes|no|true|false)"
    r"(?=\s*(?:$|[.,;:!()\]}\n\"'|/\u2013\u2014-]|and\b|\d[.):]|(?:yes|no)\W*$))",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"\bboth(?:\s+(?:statements|answers))?(?:\s+(?:are|is))?\s*:?\s*(?P<after>yes|no|true|false)\b"
    r"|\b(?P<before>yes|no)\s+(?:to|for)\s+both\b",
    re.IGNORECASE,
)
_NOT_BEFORE = re.compile(r"(?:\bnot\b|n['\u2019]t\b)[^.;\n]{0,60}\Z", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:(?:statement|question|answer|q|s)\s*)?(?<![\d.])[\"'(]?(?P<number>[12])[\"')]?\s*[.):=-]?"
    r"[\"'\s:-]*\Z",
    re.IGNORECASE,
)
_EITHER = re.compile(r"\byes\s*(?:/|or)\s*no\b", re.IGNORECASE)


def read_pair_part(text: str, ask: PairAsk) -> PartReading:
    """Parse two answers ``[first, second]`` in a part of a reply; ``True`` for yes."""
    plain = _without(strip_markup(text), ask)
    both = _BOTH.search(plain)
    words = list(_WORD.finditer(plain))
    if both is not None and _NOT_BEFORE.search(plain, 0, both.start()):
        return PartReading(None, "negated")
    if both is not None:
        word = both["after"] or both["before"]
        values = {match["word"].casefold() in _YES for match in words}
        yes = word.casefold() in _YES
        return (
            PartReading([yes, yes], "") if values <= {yes} else PartReading(None, "contradiction")
        )
    if not words:
        return PartReading(None, "")
    numbered: dict[str, set[bool]] = {"1": set(), "2": set()}
    bare = []
    for match in words:
        yes = match["word"].casefold() in _YES
        number = _NUMBER.search(plain, max(0, match.start() - 20), match.start())
        if number is None:
            bare.append(yes)
        else:
            numbered[number["number"]].add(yes)
    if numbered["1"] or numbered["2"]:
        if any(len(answers) != 1 for answers in numbered.values()):
            twice = any(len(answers) > 1 for answers in numbered.values())
            return PartReading(None, "contradiction" if twice else "one-answer")
        return PartReading([numbered["1"].pop(), numbered["2"].pop()], "")
    if len(bare) != 2:
        return PartReading(None, "one-answer" if len(bare) == 1 else "several-answers")
    return PartReading([*bare], "")


def _without(text: str, ask: PairAsk) -> str:
    """Remove the statements, which a reply may repeat, and "yes or no" from the text."""
    for statement in ask.statements:
        words = r"\s+".join(map(re.escape, strip_markup(statement).split()))
        if words:
            text = re.sub(words, " ", text, flags=re.IGNORECASE)
    return _EITHER.sub(" ", text)
