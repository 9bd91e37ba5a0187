"""What a reason tells of the cells of a table: a shifted row may show whose picture it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from medrcube.records import Case, Skip

__all__ = ["told"]

_WORD = re.compile(r"[^\s=:,;'\"()\[\]{}|/<>]+")
_MOST_DIGITS = 4
"""A grade, an age, a size and a year have no more; a number of a patient or a date of birth has."""
_COUNTED = re.compile(r" (?:bytes|characters|rows)\b")


def told(found: Case | Skip, names: Iterable[str]) -> Case | Skip:
    """A ``Skip`` whose reason shows no word that may identify somebody.

    A word of a cell that looks like an identifier is replaced by its shape. Its own key, and the
    names of files of the copy, are no secret; see ``build/privacy.py``.

    Args:
        found: what an adapter yields; a case stays as it is.
        names: of all files of the copy.
    """
    if isinstance(found, Case):
        return found
    reason, known = found.reason, found.key
    if any(_is_suspect(it, reason, known) for it in _WORD.finditer(reason)):
        known = "\n".join((known, *names))
    return replace(
        found,
        reason=_WORD.sub(
            lambda it: _shape(it[0]) if _is_suspect(it, reason, known) else it[0], reason
        ),
    )


def _is_suspect(word: re.Match[str], reason: str, known: str) -> bool:
    text = word[0].rstrip(".")
    if sum(map(str.isdigit, text)) <= _MOST_DIGITS and "^" not in text:
        return False
    is_line = text.isdigit() and reason[: word.start()].endswith(":")
    return not (is_line or _COUNTED.match(reason, word.end()) or text in known)


def _shape(word: str) -> str:
    kinds = [
        kind
        for kind, fits in (("letters", str.isalpha), ("digits", str.isdigit))
        if any(map(fits, word))
    ]
    return f"({len(word)} characters, {' and '.join(kinds)})"
