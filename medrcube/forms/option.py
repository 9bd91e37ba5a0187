"""Form ``option``: one letter out of two to four options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medrcube.forms.protocol import AnswerScore

__all__ = ["OptionTarget", "score_letter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTarget:
    """The options and the key.

    Attributes:
        options: (letter, text) of each option.
        key: letter of the right option.
    """

    options: Sequence[tuple[str, str]]
    key: str


def score_letter(answer: str, key: str) -> AnswerScore:
    """Score a letter: passed if it is the key; the credit is 1 or 0."""
    return AnswerScore(passed=answer == key, credit=float(answer == key))
