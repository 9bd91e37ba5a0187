"""What people change about their own account."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from medrcube.review import keymap
from medrcube.review.audit import Entry, record
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import User


def change_password(
    user: User, *, old: str, new: str, again: str, now: datetime | None = None
) -> None:
    """Set a new password; the account is signed out everywhere else.

    Raises:
        InvalidAnswerError: the old one is wrong, or the new one is weak or mistyped.
    """
    if not user.check_password(old):
        raise InvalidAnswerError("the old password is not right")
    if new != again:
        raise InvalidAnswerError("the new password was typed in two ways; type it again")
    try:
        validate_password(new, user)
    except ValidationError as error:
        raise InvalidAnswerError(" ".join(error.messages)) from error
    user.set_password(new)
    with transaction.atomic():
        user.save(update_fields=["password"])
        entry = Entry(
            actor=user.pseudonym,
            kind="person.password_changed",
            object=f"person:{user.pseudonym}",
            body={},
        )
        record(now or timezone.now(), entry)


def change_keys(user: User, keys: Mapping[str, str], *, off: bool) -> None:
    """Store a reader's own keys.

    Raises:
        InvalidAnswerError: as ``keymap.chosen``.
    """
    user.keymap = keymap.chosen(keys, off=off)
    user.save(update_fields=["keymap"])
