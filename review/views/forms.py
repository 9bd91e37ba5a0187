"""Django forms of all pages; every field accepts only values that both databases can store.

PostgreSQL rejects NUL in text, while SQLite accepts it; neither can store an unpaired surrogate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.http import QueryDict

from medrcube.review.assigning.specialties import all_specialties
from medrcube.review.errors import InvalidAnswerError

__all__ = [
    "LONGEST",
    "WHOLE",
    "AccountForm",
    "AdjudicationForm",
    "AssigningForm",
    "CodeForm",
    "FormValues",
    "HeadForm",
    "ItemForm",
    "OwnAccountForm",
    "PersonalDataForm",
    "QuarantineForm",
    "SecondFactorForm",
    "SignInForm",
    "SwitchForm",
    "TextField",
    "WordingForm",
]

LONGEST = 20_000
"""Maximum number of characters of a field; comments are shorter."""
WHOLE = RegexValidator(
    re.compile("[\ud800-\udfff]"), "half of a character (a lone surrogate)", inverse_match=True
)
_LONGEST_PASSWORD = 1024
"""Maximum password length; hashing a longer one would only load the server."""


class TextField(forms.CharField):
    """Text as typed, with normalised line ends; may be empty."""

    default_validators = [*forms.CharField.default_validators, WHOLE]  # noqa: RUF012  (Django's)

    def __init__(self, *, max_length: int = LONGEST, strip: bool = False, **how: Any) -> None:
        super().__init__(
            required=how.pop("required", False), strip=strip, max_length=max_length, **how
        )

    def to_python(self, value: Any) -> str:
        """Convert the CR LF line ends that browsers send."""
        return str(super().to_python(value)).replace("\r\n", "\n")


FormValues = Mapping[str, Any]
"""Cleaned values by field name."""


class NumberField(forms.IntegerField):
    """Number sent by our pages; -1, which refers to nothing, if invalid."""

    def __init__(self) -> None:
        super().__init__(required=False, min_value=0, max_value=999_999_999)

    def clean(self, value: Any) -> int:
        """Parse the number; a wrong one is reported as a conflict by the database lookup."""
        try:
            return -1 if value in self.empty_values else int(super().clean(value))
        except forms.ValidationError:
            return -1


class PageForm(forms.Form):
    """Form of a page; ``form`` identifies it if the page has several."""

    form = TextField()

    @classmethod
    def read(cls, post_data: QueryDict) -> FormValues:
        """Return the cleaned values by field name.

        Raises:
            InvalidAnswerError: names the first invalid field and the problem.
        """
        form = cls(post_data)
        if form.is_valid():
            return form.cleaned_data
        name, faults = next(iter(form.errors.items()))
        raise InvalidAnswerError(f"{name!r}: {' '.join(map(str, faults))}")


class AdjudicationForm(PageForm):
    """Adjudication of a version."""

    version = NumberField()
    outcome = TextField()
    rationale = TextField()


class AssigningForm(PageForm):
    """Forms of the assignments page; multi-valued fields are read separately."""

    assignment = NumberField()
    reviewer = NumberField()
    specialists = NumberField()
    source = TextField()
    task = TextField()
    anatomy = TextField()
    modality = TextField()
    mode = TextField()
    specialty = TextField()
    name = TextField()


class QuarantineForm(PageForm):
    """Decision on quarantined items."""

    version = NumberField()
    decision = TextField()
    note = TextField()


class SwitchForm(PageForm):
    """Action of a manager on a reviewer."""

    reviewer = NumberField()
    note = TextField()


class PersonalDataForm(PageForm):
    """Report of personal data; it has no text field, so that the data cannot be repeated."""


class ItemForm(PageForm):
    """The small forms of an item's page."""

    version = NumberField()
    comment = NumberField()
    claim = NumberField()
    reason = TextField()
    text = TextField()


class WordingForm(PageForm):
    """New wording of an item or of its gold copy, with as many options as were sent."""

    version = NumberField()
    proposal = NumberField()
    question = TextField(strip=True)
    key = NumberField()
    note = TextField()
    defect = TextField()

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self._options = [name for place in range(26) if (name := f"option-{place}") in data]
        self.fields.update({name: TextField(strip=True) for name in self._options})

    def clean(self) -> dict[str, Any]:
        """Collect the option texts in a tuple, in order."""
        options = tuple(self.cleaned_data.get(name, "") for name in self._options)
        return {**self.cleaned_data, "options": options}


class HeadForm(PageForm):
    """Earlier head of the trail, for verification."""

    number = NumberField()
    sha256 = TextField(strip=True)


class AccountForm(PageForm):
    """Account: e-mail address, role, specialties and optional password."""

    email = TextField(strip=True)
    role = TextField()
    specialties = forms.MultipleChoiceField(
        required=False,
        choices=lambda: [(name, name) for name in all_specialties()],
        error_messages={"invalid_choice": "%(value)s is not a specialty"},
    )
    password = TextField(max_length=_LONGEST_PASSWORD)


class OwnAccountForm(PageForm):
    """One's own password and keys."""

    old = TextField(max_length=_LONGEST_PASSWORD)
    new = TextField(max_length=_LONGEST_PASSWORD)
    again = TextField(max_length=_LONGEST_PASSWORD)
    single_keys = forms.BooleanField(required=False)


class SignInForm(forms.Form):
    """Sign-in form; it has a code only if a script signs in again without reload."""

    email = TextField(max_length=254, strip=True)
    password = TextField(max_length=_LONGEST_PASSWORD)
    code = TextField(max_length=64, strip=True)

    def clean_email(self) -> str:
        """Normalise the e-mail address as in accounts."""
        return str(self.cleaned_data["email"]).casefold()


class CodeForm(forms.Form):
    """Authenticator or recovery code."""

    code = TextField(max_length=64, strip=True)


class SecondFactorForm(CodeForm):
    """Form of the user's own second factor; ``form`` is empty during setup."""

    form = forms.ChoiceField(choices=[("codes", ""), ("remove", "")], required=False)
