"""Form ``option``: one letter out of two to four options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medrcube.forms.protocol import AnswerScore

__all__ = ["OptionForm", "OptionTarget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTarget:
    """The options and the key.

    Attributes:
        options: (letter, text) of each option.
        key: letter of the right option.
    """

    options: Sequence[tuple[str, str]]
    key: str


class OptionForm:
    """Passed if the letter is the key; the credit is 1 or 0."""

    name = "option"

    def right_reply(self, target: OptionTarget) -> str:
        """Return the letter of the key."""
        return target.key

    def score(self, answer: str, target: OptionTarget) -> AnswerScore:
        """Score a letter."""
        passed = answer == target.key
        return AnswerScore(passed=passed, credit=float(passed))
