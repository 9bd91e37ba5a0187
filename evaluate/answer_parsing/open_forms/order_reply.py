"""Parse an order of labels from a text, or abstain: every label exactly once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from medrcube.evaluate.answer_parsing.markup_removal import strip_markup
from medrcube.evaluate.answer_parsing.open_forms.part_reading import PartReading
from medrcube.forms.order import OrderAsk

__all__ = ["read_order_part"]

_SEPARATORS = re.compile(
    r"[\s,;.>\-\u2013\u2192()\[\]\"':]|\b(?:then|and|first|last|finally)\b", re.IGNORECASE
)
_ARROW = re.compile(r"[-=]+>|\u2192|\u27f6|\\rightarrow|\\to\b")
_SIGN = re.compile(r"[<>\u2264\u2265\u227a\u227b]")
_RANK = re.compile(r"\s*(?:[:=(]|is|rank(?:ed)?)\s*#?(\d{1,2})\b(?!\s*[.)]\s+\S)")
_REVERSES = re.compile(
    r"\b(?:(?:after|than|follow(?:s|ing)|preceded\s+by|between)(?:\s+the)?\s*\Z"
    r"|(?:is|comes|goes)\s+(?:the\s+)?(?:very\s+)?last\b)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^[ \t]*\(?(\d{1,2})[.):][ \t]+", re.MULTILINE)


def read_order_part(text: str, ask: OrderAsk) -> PartReading:
    """Return the item's labels in the order in which a part of a reply lists them."""
    plain = _ARROW.sub(" , ", strip_markup(text))
    ordinals = [int(number) for number in _NUMBERED.findall(plain)]
    plain = _NUMBERED.sub("", plain)
    positions = _positions(plain, ask.labels)
    if not positions:
        return _by_last_words(plain, ask.labels)
    if len(positions) != len(ask.labels) or len({label for _, _, label in positions}) != len(
        ask.labels
    ):
        return PartReading(None, "incomplete-list")
    for rule, pattern in (("comparison-sign", _SIGN), ("relation", _REVERSES)):
        if any(pattern.search(plain, end, start) for end, start in _gaps(positions)):
            return PartReading(None, rule)
    ranks = [
        int(rank[1]) for _, end, _ in positions if (rank := _RANK.match(plain, end)) is not None
    ]
    if any(numbers != sorted(numbers) for numbers in (ranks, ordinals)):
        return PartReading(None, "ranks-out-of-order")
    return PartReading([label for _, _, label in positions], "")


def _gaps(positions: Sequence[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """Return (start, end) of the text between consecutive mentions."""
    return [(end, start) for (_, end, _), (start, _, _) in pairwise(positions)]


def _positions(text: str, labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return (start, end, label) of every mention, the longest label first."""
    plain = sorted(((_fold(label), label) for label in labels), key=lambda pair: -len(pair[0]))
    pattern = "|".join(f"({re.escape(folded)})".replace(r"\ ", r"\s+") for folded, _ in plain)
    return [
        (match.start(), match.end(), plain[(match.lastindex or 1) - 1][1])
        for match in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)
    ]


def _by_last_words(text: str, labels: Sequence[str]) -> PartReading:
    """Return the order of the labels by their last words, if the text contains nothing else.

    For example, ``2, 1, 3`` stands for ``Picture 2``, ``Picture 1`` and ``Picture 3``.
    """
    parts = [label.rsplit(None, 1) for label in labels]
    if any(len(part) != 2 for part in parts) or len({part[0] for part in parts}) != 1:
        return PartReading(None, "")
    short = {part[1].casefold(): label for part, label in zip(parts, labels, strict=True)}
    words = [word for word in _SEPARATORS.split(text) if word]
    if not words or any(word.casefold() not in short for word in words) or "<" in text:
        return PartReading(None, "")
    order = [short[word.casefold()] for word in words]
    if sorted(order) != sorted(labels):
        return PartReading(None, "incomplete-list")
    return PartReading(None, "comparison-sign") if _SIGN.search(text) else PartReading([*order], "")


def _fold(text: str) -> str:
    return " ".join(strip_markup(text).casefold().split())
