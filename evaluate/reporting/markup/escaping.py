"""Escape untrusted text: invisible characters are made visible, the length is bounded.

A reply may contain escape sequences, bidirectional controls, zero-width characters or stacked
accents. Each is displayed by name and has no effect on the page.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import groupby

from markupsafe import Markup, escape

__all__ = ["MOST_ACCENTS", "MOST_MARKS", "capped", "clip", "one_line", "visible"]

MOST_MARKS = 60
"""Maximum runs of invisible characters named in one text; later ones become one character."""

MOST_ACCENTS = 4
"""Maximum number of consecutive combining characters."""

_PLAIN = frozenset("\n\t ")
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_NOT_SHOWN = "\ufffd"


def visible(text: str) -> Markup:
    """Return the text as HTML in which every character is visible."""
    marks_left = MOST_MARKS
    parts: list[Markup] = []
    for hidden, group in groupby(capped(text), key=_is_hidden):
        characters = "".join(group)
        if not hidden:
            parts.append(escape(characters))
        elif marks_left > 0:
            marks_left -= 1
            parts.append(_mark(characters))
        else:
            parts.append(escape(_NOT_SHOWN))
    return Markup("").join(parts)


def clip(text: str | None, limit: int) -> str:
    """Truncate to about ``limit`` characters: the beginning and the end, where answers are."""
    text = text or ""
    if len(text) <= limit:
        return text
    tail = limit // 3
    left_out = len(text) - limit
    return f"{text[: limit - tail]}\n[… {left_out:,} characters left out …]\n{text[-tail:]}"


def one_line(text: str | None, limit: int) -> str:
    """Return the start of a text without line breaks and invisible characters, for attributes."""
    text = " ".join((text or "")[: 4 * limit].split())
    text = text if len(text) <= limit else text[:limit].rstrip() + " …"
    return "".join(_NOT_SHOWN if _is_hidden(character) else character for character in capped(text))


def _is_hidden(character: str) -> bool:
    if character in _PLAIN:
        return False
    return unicodedata.category(character) in _INVISIBLE or character in _BLANK_LETTERS


def _mark(characters: str) -> Markup:
    codes = [f"U+{ord(character):04X}" for character in characters[:4]]
    more = f" +{len(characters) - 4}" if len(characters) > 4 else ""
    name = unicodedata.name(characters[0], "control character").lower()
    return Markup('<span class="hidden-char" title="{}">{}{}</span>').format(
        name, " ".join(codes), more
    )


def capped(text: str) -> str:
    """Limit the text to ``MOST_ACCENTS`` accents per letter."""
    return text if text.isascii() else "".join(_capped(text))


def _capped(text: str) -> Iterator[str]:
    accents = 0
    for character in text:
        accents = accents + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if accents <= MOST_ACCENTS:
            yield character
        elif accents == MOST_ACCENTS + 1:
            yield _NOT_SHOWN
