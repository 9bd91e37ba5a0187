"""Django form of a remark from outside: plain text of limited length about one item."""

from __future__ import annotations

import re
import unicodedata

from django import forms

__all__ = ["IDS", "LONGEST", "TEXTS", "RemarkForm"]

LONGEST = 2000
"""Maximum number of characters of a remark."""
IDS = ("item", "id")
TEXTS = ("text", "remark")

_LONGEST_NAME = 200
_NO_ITEM = f"has no item; expected one of the columns {', '.join(IDS)}"
_NO_TEXT = f"has no text; expected one of the columns {', '.join(TEXTS)}"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co"})
"""Unicode categories of invisible characters."""
_MARKUP = re.compile(r"<[A-Za-z/!?]|&(?:#\w+|\w+);")
_ADDRESS = re.compile(r"\S@\S+\.\S")


class RemarkForm(forms.Form):
    """Form for one row of a file of remarks; ``fault`` states why it is refused."""

    item = forms.CharField(
        max_length=_LONGEST_NAME, error_messages={"required": _NO_ITEM, "max_length": _NO_ITEM}
    )
    text = forms.CharField(error_messages={"required": _NO_TEXT})

    def clean_text(self) -> str:
        """Return the text if it is plain.

        Raises:
            ValidationError: the text is too long or has forbidden content.
        """
        text = str(self.cleaned_data["text"])
        if len(text) > LONGEST:
            problem = f"has {len(text):,} characters; expected at most {LONGEST:,}"
        elif any(unicodedata.category(char) in _HIDDEN for char in text):
            problem = "contains invisible characters"
        elif _MARKUP.search(text):
            problem = "contains markup; expected plain text"
        elif _ADDRESS.search(text):
            problem = "contains an e-mail address"
        else:
            return text
        raise forms.ValidationError(problem)

    @property
    def fault(self) -> str:
        """Return the first error; empty if the row is valid."""
        return next((str(text) for faults in self.errors.values() for text in faults), "")
