"""Password strength, estimated by zxcvbn."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from zxcvbn import zxcvbn  # type: ignore[import-untyped]

from medrcube.review.models import User

__all__ = ["StrengthValidator"]

_LEAST_SCORE = 3
"""Minimum of 10^8 guesses (Wheeler, USENIX Security 2016); Argon2 makes offline ones costly."""
_MOST_CHARACTERS = 72
"""Maximum length that zxcvbn evaluates."""
_CONTEXT = ("medrcube", "review", "reviewer", "adjudicator", "manager", "administrator")


class StrengthValidator:
    """Reject repetitions, keyboard patterns, known passwords, and words with a year.

    One of Django's ``AUTH_PASSWORD_VALIDATORS``; zxcvbn estimates the guesses.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        """Reject a password that can be found with few guesses.

        Raises:
            ValidationError: states the reason and how to improve the password.
        """
        own = user.email.replace("@", ".").split(".") if user is not None else []
        estimate = zxcvbn(password[:_MOST_CHARACTERS], user_inputs=[*_CONTEXT, *own])
        if estimate["score"] >= _LEAST_SCORE:
            return
        warning = estimate["feedback"]["warning"].rstrip(".")
        raise ValidationError(
            f"This password is easily guessed{f' ({warning.lower()})' if warning else ''}. "
            "Use a few unrelated words.",
            code="password_guessable",
        )

    def get_help_text(self) -> str:
        """Return the rule in one sentence."""
        return "A few unrelated words work well."
