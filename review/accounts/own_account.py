"""Changes by users to their own account."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from medrcube.review.accounts.accounts import account_event, check_password
from medrcube.review.audit_trail.event_chain import record_events
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import User

__all__ = ["change_password", "switch_single_keys"]


def change_password(user: User, *, old: str, new: str, again: str) -> None:
    """Change the password; all other sessions of the account end.

    Raises:
        InvalidAnswerError: the old password is wrong, or the new one is weak or mistyped.
    """
    if not user.check_password(old):
        raise InvalidAnswerError("the current password is wrong")
    if new != again:
        raise InvalidAnswerError("the two new passwords differ; type both again")
    check_password(new, user)
    if new == old:
        raise InvalidAnswerError("the new password equals the current one; choose another")
    user.set_password(new)
    user.temporary_password = False
    with transaction.atomic():
        user.save(update_fields=["password", "temporary_password"])
        record_events(timezone.now(), account_event(user, "password_changed", user))


def switch_single_keys(user: User, *, on: bool) -> None:
    """Enable or disable single-character shortcuts on the review page."""
    user.single_keys = on
    user.save(update_fields=["single_keys"])
