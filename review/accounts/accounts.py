"""Account administration: create, change, open and close accounts.

Events refer to people by pseudonym, never by e-mail address.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from medrcube.review.assigning.specialties import check_specialties
from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Claim, Role, User
from medrcube.review.views.sent_text import email_of

__all__ = [
    "account_event",
    "account_of",
    "add_account",
    "change_account",
    "check_password",
    "random_password",
    "reset_password",
    "set_active",
]

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Password alphabet without easily confused characters."""


def random_password() -> str:
    """Return sixteen random characters in groups of four (79 bits)."""
    groups = ("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(4))
    return "-".join(groups)


def check_password(password: str, user: User) -> None:
    """Reject a password that is easily guessed.

    Raises:
        InvalidAnswerError: the password is short, common, or similar to the e-mail address.
    """
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidAnswerError(" ".join(error.messages)) from error


def add_account(
    actor: User,
    *,
    email: str,
    role: str,
    specialties: Sequence[str],
    password: str,
    temporary: bool = True,
) -> User:
    """Create an account.

    Args:
        actor: administrator who creates it.
        email: sign-in address.
        role: role of the user.
        specialties: names in ``specialties.all_specialties``.
        password: initial password.
        temporary: whether it must be changed because somebody else chose it.

    Raises:
        InvalidAnswerError: invalid address, unknown role or specialty, weak password, or an address
            that already has an account.
    """
    email = email_of(email)
    fields = {"role": _role(role), "specialties": check_specialties(specialties)}
    user = User(email=email, **fields)
    check_password(password, user)
    user.set_password(password)
    user.temporary_password = temporary
    try:
        with transaction.atomic():
            user.save()
            record_events(timezone.now(), account_event(actor, "added", user, **fields))
    except IntegrityError as error:
        raise InvalidAnswerError(f"{email} already has an account; see the list") from error
    return user


def account_of(email: str) -> User:
    """Return the account of an e-mail address.

    Raises:
        InvalidAnswerError: there is no such account.
    """
    user = User.objects.filter(email=email_of(email)).first()
    if user is None:
        raise InvalidAnswerError(f"{email} has no account; see the list")
    return user


def change_account(
    actor: User,
    user_id: int,
    *,
    role: str,
    specialties: Sequence[str],
) -> User:
    """Set role and specialties; a user who stops being a reviewer gives back held items.

    A user who may have seen keys and reviews cannot become a reviewer, as they would not be blind.

    Raises:
        InvalidAnswerError: unknown role or specialty, or the change is not permitted.
        ConflictError: there is no such account.
    """
    now = timezone.now()
    fields = {"role": _role(role), "specialties": check_specialties(specialties)}
    with transaction.atomic():
        user = _locked(user_id)
        if role != user.role:
            _refuse_last(user)
            if role == Role.REVIEWER and user.last_login is not None:
                raise InvalidAnswerError(
                    f"a person who was {user.role} has seen keys and reviews and would not review "
                    "blind; choose another role"
                )
        before = {"role": user.role, "specialties": user.specialties}
        if before == fields:
            raise InvalidAnswerError("nothing was changed")
        user.role, user.specialties = role, fields["specialties"]
        user.save(update_fields=["role", "specialties"])
        if user.role != Role.REVIEWER:
            _give_back(user, now)
        record_events(now, account_event(actor, "changed", user, before=before, after=fields))
    return user


def set_active(actor: User, user_id: int, *, active: bool) -> User:
    """Open or close an account; a closed account is signed out at its next request.

    Raises:
        InvalidAnswerError: it is the last administrator's account.
        ConflictError: there is no such account, or it already has this state.
    """
    now = timezone.now()
    with transaction.atomic():
        user = _locked(user_id)
        if user.is_active == active:
            raise ConflictError(f"this account is {'open' if active else 'closed'} already")
        if not active:
            _refuse_last(user)
            _give_back(user, now)
        user.is_active = active
        user.save(update_fields=["is_active"])
        record_events(now, account_event(actor, "opened" if active else "closed", user))
    return user


def reset_password(actor: User, user_id: int, password: str) -> User:
    """Set a temporary password, to be changed at the next sign-in; ends all sessions.

    Raises:
        InvalidAnswerError: the password is weak.
        ConflictError: there is no such account.
    """
    hashed = make_password(password)  # intentionally slow, so before taking the lock
    with transaction.atomic():
        user = _locked(user_id)
        check_password(password, user)
        user.password = hashed
        user.temporary_password = True
        user.save(update_fields=["password", "temporary_password"])
        record_events(timezone.now(), account_event(actor, "password_reset", user))
    return user


def account_event(actor: User, what: str, user: User, **body: object) -> NewEvent:
    """Create an event about a user."""
    return NewEvent(
        actor=actor.pseudonym,
        kind=f"person.{what}",
        object=f"person:{user.pseudonym}",
        body=body,
    )


def _role(role: str) -> str:
    if role not in Role.values:
        raise InvalidAnswerError(f"role {role!r}; expected one of {', '.join(Role.values)}")
    return role


def _locked(user_id: int) -> User:
    """Lock an account and all administrators, so that two cannot remove each other."""
    people = User.objects.select_for_update(of=("self",)).order_by("pk")
    list(people.filter(role=Role.ADMINISTRATOR).values_list("pk", flat=True))
    user = people.filter(pk=user_id).first()
    if user is None:
        raise ConflictError("there is no such account; reload the list")
    return user


def _refuse_last(user: User) -> None:
    if user.role != Role.ADMINISTRATOR or not user.is_active:
        return
    others = User.objects.filter(role=Role.ADMINISTRATOR, is_active=True).exclude(pk=user.pk)
    if not others.exists():
        raise InvalidAnswerError(
            "this is the last administrator; appoint another one first, or nobody could manage "
            "accounts"
        )


def _give_back(user: User, now: datetime) -> None:
    live = Claim.objects.filter(user=user, released_at=None, submitted_at=None)
    live.update(released_at=now, outcome="given-back")
