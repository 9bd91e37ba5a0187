"""Validation of submitted text before any view: only text that both databases can store."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from medrcube.review.errors import InvalidAnswerError
from medrcube.review.views.forms import WHOLE, TextField

__all__ = ["check_sent", "email_of"]

_TEXT = TextField()
_EMAIL = forms.EmailField(max_length=254, validators=[WHOLE])


def check_sent(post_data: QueryDict) -> None:
    """Reject a form with text that one of the databases cannot store.

    Raises:
        InvalidAnswerError: names the field and the problem.
    """
    for name, values in post_data.lists():
        for value in values:
            try:
                _TEXT.clean(value)
            except ValidationError as error:
                raise InvalidAnswerError(f"{name[:40]!r}: {' '.join(error.messages)}") from error


def email_of(text: str) -> str:
    """Normalise an e-mail address as in accounts.

    Raises:
        InvalidAnswerError: the address is invalid or longer than 254 characters.
    """
    try:
        return str(_EMAIL.clean(text)).casefold()
    except ValidationError as error:
        raise InvalidAnswerError(f"{text[:80]!r} is not an e-mail address") from error
