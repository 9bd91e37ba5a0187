"""The forms that people send, as Django reads them; every field takes what both databases take.

PostgreSQL refuses a NUL in a text and SQLite takes it; neither can store half of a surrogate pair.
"""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.validators import RegexValidator

__all__ = ["LONGEST", "WHOLE", "Code", "Credentials", "SecondFactorForm", "Text"]

LONGEST = 20_000
"""Characters of one field; a comment has fewer."""
WHOLE = RegexValidator(
    re.compile("[\ud800-\udfff]"), "half of a character (a lone surrogate)", inverse_match=True
)
_LONGEST_PASSWORD = 1024
"""Hashing a longer one would only keep the server busy."""


class Text(forms.CharField):
    """Text as it was typed, with line ends as everywhere; may be empty."""

    default_validators = [*forms.CharField.default_validators, WHOLE]  # noqa: RUF012  (Django's)

    def __init__(self, *, max_length: int = LONGEST, strip: bool = False, **how: Any) -> None:
        super().__init__(
            required=how.pop("required", False), strip=strip, max_length=max_length, **how
        )

    def to_python(self, value: Any) -> str:
        """Browsers send line ends as CR LF."""
        return str(super().to_python(value)).replace("\r\n", "\n")


class Credentials(forms.Form):
    """The sign-in; a code only where a script asks again in place."""

    email = Text(max_length=254, strip=True)
    password = Text(max_length=_LONGEST_PASSWORD)
    code = Text(max_length=64, strip=True)

    def clean_email(self) -> str:
        """Accounts have addresses in one form."""
        return str(self.cleaned_data["email"]).casefold()


class Code(forms.Form):
    """A code of an authenticator, or a recovery code."""

    code = Text(max_length=64, strip=True)


class SecondFactorForm(Code):
    """The page of one's own second factor; ``form`` is empty where it is set up."""

    form = forms.ChoiceField(choices=[("codes", ""), ("remove", "")], required=False)
