"""Form ``option``: one letter of two to four options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medrcube.forms.protocol import AnswerScore

__all__ = ["OptionForm", "OptionTarget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTarget:
    """Options, and the right one.

    Attributes:
        options: (letter, text) of each option.
        key: letter of the right one.
    """

    options: Sequence[tuple[str, str]]
    key: str


class OptionForm:
    """Passed with the letter of the key; the credit is 1 or 0."""

    name = "option"

    def right_reply(self, target: OptionTarget) -> str:
        """The letter of the key."""
        return target.key

    def score(self, answer: str, target: OptionTarget) -> AnswerScore:
        """Score of a letter."""
        passed = answer == target.key
        return AnswerScore(passed=passed, credit=float(passed))
