"""Check that a prompt shows each option after its own letter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["fold", "misplaced_option"]

_LETTER = re.compile(r"(?<!\w)([A-Z])([^\w\r\n]+)")
_MARK = re.compile(r"[^\w\s]")
_PAIR = tuple[str, str]


def misplaced_option(
    text: str, question: str, options: Sequence[tuple[str, str]]
) -> tuple[str, tuple[str, ...]] | None:
    """Return the first option that does not follow its own letter, and only its own.

    A letter belongs to the option that follows it on the same line, with punctuation and no word in
    between: ``A. text``, ``(A) text``, ``A) text``, ``A: text``. If one option is a prefix of
    another, the longer one counts.

    Args:
        text: the whole prompt.
        question: the question; matches within it are ignored.
        options: letter and text of each option.

    Returns:
        The letter of the option, and the letters before it in the prompt; ``None`` if every option
        follows its letter.
    """
    pairs = set(_pairs(text, options))
    chance = {
        pair for part in (question, *dict(options).values()) for pair in _pairs(part, options)
    }
    for letter, _ in options:
        letters_before = {before for before, option in pairs if option == letter}
        strange = {before for before in letters_before - {letter} if (before, letter) not in chance}
        if letter not in letters_before or strange:
            return letter, tuple(sorted(strange or letters_before))
    return None


def fold(text: str) -> str:
    """Normalise case and white space."""
    return " ".join(text.casefold().split())


def _pairs(text: str, options: Sequence[tuple[str, str]]) -> Iterator[_PAIR]:
    """Yield (letter before an option, letter of that option) pairs in the text."""
    letters = {letter for letter, _ in options}
    folded = [(letter, fold(option)) for letter, option in options]
    window = 2 * max((len(option) for _, option in options), default=0) + 16
    for match in _LETTER.finditer(text):
        if match[1] not in letters:
            continue
        lengths: dict[str, int] = {}
        for place in range(match.start(2) + 1, match.end(2) + 1):
            if text[place : place + 1].isspace() or not _MARK.search(text, match.start(2), place):
                continue
            rest = fold(text[place : place + window])
            for letter, option in folded:
                if _begins(rest, option):
                    lengths[letter] = len(option)
        longest = max(lengths.values(), default=0)
        matches = {letter for letter, length in lengths.items() if length == longest}
        if matches:
            yield match[1], match[1] if match[1] in matches else min(matches)


def _begins(text: str, option: str) -> bool:
    """Whether the text starts with the option, up to a word boundary."""
    after = text[len(option) : len(option) + 1]
    return text.startswith(option) and not (option[-1:].isalnum() and after.isalnum())
