"""Redaction of table cells in messages, because a shifted row may contain a person's name.

A message shows a cell only if it cannot be personal: a number of a few digits, punctuation, a
single letter, a word for "no value", or a word similar to one of the column's allowed values. Of
any other cell it shows only the shape, ``(like Xxxxxx Xxxx)``, with file, row and column.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from medrcube.facts import Case, Skip

__all__ = [
    "cell_shape",
    "evidence_place",
    "redact_cell",
    "redact_evidence",
    "redact_exception",
    "redact_name",
    "redact_reason",
    "words_in",
]

_WORD = re.compile(r"[^\s=:,;'\"()\[\]{}|/<>]+")
_MOST_DIGITS = 4
"""Maximum digits of a grade, age, size or year; patient numbers and dates of birth have more."""
_COUNTED = re.compile(r" (?:bytes|characters|rows)\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_GAPS = frozenset(
    {
        *("nan", "na", "nil", "nd", "none", "null", "missing", "unknown", "unk", "undefined"),
        *("unspecified", "true", "false", "yes", "no"),
    }
)
"""Words, without punctuation, for missing values and for yes and no."""
_NEAR = 0.8
"""Minimum similarity (``difflib``) of a misspelling to the intended word."""
_LONGEST = 24
_PAIR = re.compile(r"([^\W\d_]{2,})(?=,? +([^\W\d_]{2,}))")
"""Two adjacent words, as in ``Muller Anna`` and ``Muller, Anna``."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def redact_cell(cell: str, allowed: Iterable[str] = ()) -> str:
    """Return a cell in a form that is safe in a message.

    Args:
        cell: raw cell.
        allowed: allowed values of its column.
    """
    return cell if _is_impersonal(cell, allowed) else cell_shape(cell)


def cell_shape(cell: str) -> str:
    """Return the shape of a cell: letters become ``x``, digits ``9``, punctuation is kept."""
    shape = "".join(map(_sign, cell[:_LONGEST]))
    if len(cell) > _LONGEST:
        shape += f"..., {len(cell)} characters"
    return f"(like {shape})"


def redact_evidence(evidence: str, allowed: Iterable[str] = ()) -> str:
    """Return the evidence of a label with its cell redacted by ``redact_cell``."""
    place, sign, cell = evidence.partition("=")
    return place + sign + redact_cell(cell, allowed)


def redact_name(name: str, familiar: Collection[str]) -> str:
    """Return the name of a missing image in a form that is safe in a list.

    Each part of the path that may be a person's name is replaced by its shape: two adjacent words
    that are not ``familiar``, or a DICOM name with ``^``.

    Args:
        name: key of a case, or the expected path of its file.
        familiar: words from ``words_in`` that names of this source consist of.
    """
    return "/".join(
        cell_shape(part) if _is_of_a_person(part, familiar) else part for part in name.split("/")
    )


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """Return all words of some texts, case-folded."""
    return frozenset(word.casefold() for text in texts for word in _LETTERS.findall(text))


def evidence_place(evidence: str) -> str:
    """Return the evidence without the cell: ``train.csv:123 Edema`` for ``... Edema=-1``."""
    return evidence.partition("=")[0]


def redact_reason(entry: Case | Skip, names: Iterable[str]) -> Case | Skip:
    """Return a ``Skip`` without words in its reason that may identify a person.

    A second safeguard after ``redact_cell``, for texts written by adapters: a word of five or more
    digits is replaced by its shape. Its own key and the file names of the copy are not secret;
    see ``build/source_checks/privacy_check.py``.

    Args:
        entry: entry of an adapter; a case is returned unchanged.
        names: names of all files of the copy.
    """
    if isinstance(entry, Case):
        return entry
    reason, public = entry.reason, entry.key
    if any(_is_suspect(word, reason, public) for word in _WORD.finditer(reason)):
        public = "\n".join((public, *names))
    return replace(
        entry,
        reason=_WORD.sub(
            lambda word: cell_shape(word[0]) if _is_suspect(word, reason, public) else word[0],
            reason,
        ),
    )


def redact_exception(error: Exception) -> str:
    """Return the message of an exception without the values that Python quotes in it."""
    message = _QUOTED.sub(lambda match: redact_cell(match[0][1:-1]), str(error))
    return f"{type(error).__name__}: {message}"


def _sign(character: str) -> str:
    if character.isalpha():
        return "X" if character.isupper() else "x"
    if character.isdecimal():
        return "9"
    return character if character.isascii() else "?"


def _is_of_a_person(part: str, familiar: Collection[str]) -> bool:
    if "^" in part:
        return True
    return any(
        not {first.casefold(), other.casefold()} & set(familiar)
        for first, other in _PAIR.findall(part)
    )


def _is_impersonal(cell: str, allowed: Iterable[str]) -> bool:
    words = _LETTERS.findall(cell)
    if sum(map(str.isdigit, cell)) > _MOST_DIGITS:
        return False
    if sum(map(len, words)) <= 1 or "".join(words).casefold() in _GAPS:
        return True
    return _is_near(cell, tuple(allowed))


def _is_near(cell: str, allowed: tuple[str, ...]) -> bool:
    """Whether a cell consists of allowed words of its column or misspellings of them."""
    plain, values = cell.casefold(), [value.casefold() for value in allowed]
    if difflib.get_close_matches(plain, values, n=1, cutoff=_NEAR):
        return True
    vocabulary = {word for value in values for word in _LETTERS.findall(value)}
    return all(word in vocabulary for word in _LETTERS.findall(plain))


def _is_suspect(word: re.Match[str], reason: str, public: str) -> bool:
    text = word[0].rstrip(".")
    if sum(map(str.isdigit, text)) <= _MOST_DIGITS and "^" not in text:
        return False
    if set(re.sub(r"[\W_]", "", text)) <= {"X", "x", "9"}:  # a shape already
        return False
    is_line = text.isdigit() and reason[: word.start()].endswith(":")
    return not (is_line or _COUNTED.match(reason, word.end()) or text in public)
