"""Django forms of all pages; every field accepts only what both databases store.

PostgreSQL refuses a NUL in a text and SQLite takes it; neither can store half of a surrogate pair.
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
"""Characters of one field; a comment has fewer."""
WHOLE = RegexValidator(
    re.compile("[\ud800-\udfff]"), "half of a character (a lone surrogate)", inverse_match=True
)
_LONGEST_PASSWORD = 1024
"""Hashing a longer one would only keep the server busy."""


class TextField(forms.CharField):
    """Text as it was typed, with line ends as everywhere; may be empty."""

    default_validators = [*forms.CharField.default_validators, WHOLE]  # noqa: RUF012  (Django's)

    def __init__(self, *, max_length: int = LONGEST, strip: bool = False, **how: Any) -> None:
        super().__init__(
            required=how.pop("required", False), strip=strip, max_length=max_length, **how
        )

    def to_python(self, value: Any) -> str:
        """Browsers send line ends as CR LF."""
        return str(super().to_python(value)).replace("\r\n", "\n")


FormValues = Mapping[str, Any]
"""What was sent, by the names of the fields of a form."""


class NumberField(forms.IntegerField):
    """A number that a page of ours sends; -1, which names nothing, where it is none."""

    def __init__(self) -> None:
        super().__init__(required=False, min_value=0, max_value=999_999_999)

    def clean(self, value: Any) -> int:
        """What it names is asked of the database, so a wrong one is a conflict and no fault."""
        try:
            return -1 if value in self.empty_values else int(super().clean(value))
        except forms.ValidationError:
            return -1


class PageForm(forms.Form):
    """A form of a page; ``form`` says which, where a page has several."""

    form = TextField()

    @classmethod
    def read(cls, sent: QueryDict) -> FormValues:
        """What was sent, by the names of the fields.

        Raises:
            InvalidAnswerError: names the first field that is wrong, and what is wrong in it.
        """
        form = cls(sent)
        if form.is_valid():
            return form.cleaned_data
        name, faults = next(iter(form.errors.items()))
        raise InvalidAnswerError(f"{name!r}: {' '.join(map(str, faults))}")


class AdjudicationForm(PageForm):
    """A decision over the reviews of a version."""

    version = NumberField()
    outcome = TextField()
    rationale = TextField()


class AssigningForm(PageForm):
    """The forms of the page of assignments; names of which several are sent are read apart."""

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
    """What becomes of items that one vote took out."""

    version = NumberField()
    decision = TextField()
    note = TextField()


class SwitchForm(PageForm):
    """What a manager does with a reviewer."""

    reviewer = NumberField()
    note = TextField()


class PersonalDataForm(PageForm):
    """Takes images out of the queue; has no field in which what was seen could be repeated."""


class ItemForm(PageForm):
    """The small forms of an item's page."""

    version = NumberField()
    comment = NumberField()
    claim = NumberField()
    reason = TextField()
    text = TextField()


class WordingForm(PageForm):
    """A new wording of an item, or of a gold copy of it; as many options as were sent."""

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
        """The texts of the options in one tuple, in their order."""
        options = tuple(self.cleaned_data.get(name, "") for name in self._options)
        return {**self.cleaned_data, "options": options}


class HeadForm(PageForm):
    """A head of the trail that was noted earlier."""

    number = NumberField()
    sha256 = TextField(strip=True)


class AccountForm(PageForm):
    """An account: who, what they may do, and a password, which may be left empty."""

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
    """The sign-in; a code only where a script asks again in place."""

    email = TextField(max_length=254, strip=True)
    password = TextField(max_length=_LONGEST_PASSWORD)
    code = TextField(max_length=64, strip=True)

    def clean_email(self) -> str:
        """Accounts have addresses in one form."""
        return str(self.cleaned_data["email"]).casefold()


class CodeForm(forms.Form):
    """A code of an authenticator, or a recovery code."""

    code = TextField(max_length=64, strip=True)


class SecondFactorForm(CodeForm):
    """The page of one's own second factor; ``form`` is empty where it is set up."""

    form = forms.ChoiceField(choices=[("codes", ""), ("remove", "")], required=False)
