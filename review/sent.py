"""Text that people send, held to what every database takes, before any page looks at it.

PostgreSQL refuses a NUL in a text and SQLite takes it; neither can store half of a surrogate pair.
"""

from __future__ import annotations

import re

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.http import QueryDict

from medrcube.review.errors import InvalidAnswerError

__all__ = ["LONGEST", "check_sent", "email_of"]

LONGEST = 20_000
"""Characters of one field; a comment has fewer."""
_WHOLE = RegexValidator(
    re.compile("[\ud800-\udfff]"), "half of a character (a lone surrogate)", inverse_match=True
)
_TEXT = forms.CharField(required=False, strip=False, max_length=LONGEST, validators=[_WHOLE])
_EMAIL = forms.EmailField(max_length=254, validators=[_WHOLE])


def check_sent(sent: QueryDict) -> None:
    """Refuse a form with a text that some database would refuse.

    Raises:
        InvalidAnswerError: names the field, and what is wrong in it.
    """
    for name, values in sent.lists():
        for value in values:
            try:
                _TEXT.clean(value)
            except ValidationError as error:
                raise InvalidAnswerError(f"{name[:40]!r}: {' '.join(error.messages)}") from error


def email_of(text: str) -> str:
    """An address as accounts have it.

    Raises:
        InvalidAnswerError: it is none, or longer than 254 characters.
    """
    try:
        return str(_EMAIL.clean(text)).casefold()
    except ValidationError as error:
        raise InvalidAnswerError(f"{text[:80]!r} is no e-mail address") from error
