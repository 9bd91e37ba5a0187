"""Redaction of table cells in messages: a shifted row may hold a person's name.

A message shows a cell only where it cannot be personal: a number of a few digits, signs, one
letter, a word for "no value", or a word near one of the column's allowed values. Of any other cell
it shows the shape, ``(like Xxxxxx Xxxx)``, beside file, row and column.
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
"""A grade, an age, a size and a year have no more; a number of a patient or a date of birth has."""
_COUNTED = re.compile(r" (?:bytes|characters|rows)\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_GAPS = frozenset(
    {
        *("nan", "na", "nil", "nd", "none", "null", "missing", "unknown", "unk", "undefined"),
        *("unspecified", "true", "false", "yes", "no"),
    }
)
"""Words, without signs between them, that tables hold where they say nothing, or yes and no."""
_NEAR = 0.8
"""Least similarity (``difflib``) of a slip of the pen to the word that was meant."""
_LONGEST = 24
_PAIR = re.compile(r"([^\W\d_]{2,})(?=,? +([^\W\d_]{2,}))")
"""Two words side by side, as in ``Muller Anna`` and ``Muller, Anna``."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def redact_cell(cell: str, allowed: Iterable[str] = ()) -> str:
    """A cell as a message may show it.

    Args:
        cell: as it stands in the table.
        allowed: values that its column may hold.
    """
    return cell if _is_impersonal(cell, allowed) else cell_shape(cell)


def cell_shape(cell: str) -> str:
    """Shape of a cell: letters become ``x``, digits ``9``, signs stay."""
    shape = "".join(map(_sign, cell[:_LONGEST]))
    if len(cell) > _LONGEST:
        shape += f"..., {len(cell)} characters"
    return f"(like {shape})"


def redact_evidence(evidence: str, allowed: Iterable[str] = ()) -> str:
    """Where a label stands, and the cell there as ``redact_cell`` gives it."""
    place, sign, cell = evidence.partition("=")
    return place + sign + redact_cell(cell, allowed)


def redact_name(name: str, familiar: Collection[str]) -> str:
    """Name of an image that is missing from the copy, as a list may show it.

    Each part of the path that may be a person's name is replaced by its shape: two adjacent words
    that are not ``familiar``, or a DICOM name with ``^``.

    Args:
        name: key of a case, or the path that its file would have.
        familiar: words of ``words_in`` that names of this source are made of.
    """
    return "/".join(
        cell_shape(part) if _is_of_a_person(part, familiar) else part for part in name.split("/")
    )


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """All words of some texts, case-folded."""
    return frozenset(word.casefold() for text in texts for word in _LETTERS.findall(text))


def evidence_place(evidence: str) -> str:
    """Evidence without the cell: ``train.csv:123 Edema`` of ``... Edema=-1``."""
    return evidence.partition("=")[0]


def redact_reason(entry: Case | Skip, names: Iterable[str]) -> Case | Skip:
    """A ``Skip`` whose reason holds no word that may identify a person.

    A second gate behind ``redact_cell``, for what an adapter writes itself: a word of five or more
    digits is replaced by its shape. Its own key, and the names of files of the copy, are no
    secret; see ``build/stages/privacy_check.py``.

    Args:
        entry: what an adapter yields; a case stays as it is.
        names: of all files of the copy.
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
    """Message of an exception, without the values that Python quotes in it."""
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
    """Whether a cell is a word that its column holds, or several, or a slip of the pen."""
    plain, values = cell.casefold(), [value.casefold() for value in allowed]
    if difflib.get_close_matches(plain, values, n=1, cutoff=_NEAR):
        return True
    vocabulary = {word for value in values for word in _LETTERS.findall(value)}
    return all(word in vocabulary for word in _LETTERS.findall(plain))


def _is_suspect(word: re.Match[str], reason: str, public: str) -> bool:
    text = word[0].rstrip(".")
    if sum(map(str.isdigit, text)) <= _MOST_DIGITS and "^" not in text:
        return False
    is_line = text.isdigit() and reason[: word.start()].endswith(":")
    return not (is_line or _COUNTED.match(reason, word.end()) or text in public)
