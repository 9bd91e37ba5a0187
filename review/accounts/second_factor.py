"""Second factor: one-time codes (TOTP, RFC 6238) and recovery codes.

django-otp computes the codes (RFC 6238) and rejects reused ones. Its own tables are not used
because they store secrets and recovery codes in clear text. Here secrets are encrypted (Fernet of
the package cryptography), and only a keyed digest of a recovery code is stored.

An unconfirmed secret is stored, encrypted, in the session that began the setup, so that no other
session of the account sees it. A session records which factor it has proven; all others end.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, urlencode

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django_otp.oath import TOTP

from medrcube.review.accounts.accounts import account_event, random_password
from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import RecoveryCode, Role, SecondFactor, User
from medrcube.review.reviewing.sql.cursor import fetch_one

__all__ = [
    "AT_PROVIDER",
    "AuthenticatorSetup",
    "begin_setup",
    "confirm_setup",
    "has_second_factor",
    "is_proven",
    "new_recovery_codes",
    "proven_at_provider",
    "remember_proof",
    "remove_second_factor",
    "reset_reviewer",
    "spend_code",
]

AT_PROVIDER = "second_factor_at_provider"
"""Session key: the single sign-on provider asked for a second factor."""
_BEGUN = "second_factor_begun"
"""Session key: encrypted secret that was shown only in this session."""
_PROVEN = "second_factor"
"""Session key: id of the factor that was proven in it."""
_BYTES = 20
"""Length of a secret, as recommended in RFC 4226."""
_SKEW = 1
"""Permitted clock error in steps of 30 seconds, in either direction."""
_CODES = 10
_WRONG = "this code is wrong or was already used; wait for the next one"
_THERE = "this account already has a second factor; remove it first"
_UNREADABLE = (
    "your second factor was set up under another key of this server and cannot be read; ask an "
    "administrator to reset it"
)


@dataclass(frozen=True, slots=True)
class AuthenticatorSetup:
    """Setup data for an authenticator: URI for the QR code, and the same secret as text."""

    address: str
    secret: str


def has_second_factor(user: User) -> bool:
    """Whether the account has a second factor."""
    return SecondFactor.objects.filter(user=user).exists()


def proven_at_provider(session: SessionBase) -> bool:
    """Whether a provider trusted for this purpose asked for a second factor."""
    single = settings.SITE.single_sign_on
    return bool(single and single.asks_second_factor and session.get(AT_PROVIDER))


def is_proven(session: SessionBase, user: User) -> bool:
    """Whether the account's current second factor was proven in this session.

    Also true if the account has none, or if the provider asked for one.
    """
    if proven_at_provider(session):
        return True
    row = fetch_one("SELECT id FROM review_secondfactor WHERE user_id = %s", user.pk)
    return row is None or session.get(_PROVEN) == row[0]


def remember_proof(session: SessionBase, user: User) -> None:
    """Record in the session that a code was given; call it right after ``spend_code``."""
    session[_PROVEN] = SecondFactor.objects.get(user=user).pk


def begin_setup(user: User, session: SessionBase) -> AuthenticatorSetup:
    """Return the secret for an authenticator; unchanged in this session until confirmed.

    Raises:
        InvalidAnswerError: the account already has a second factor.
    """
    if has_second_factor(user):
        raise InvalidAnswerError(_THERE)
    if _BEGUN not in session:
        session[_BEGUN] = _encrypted(secrets.token_bytes(_BYTES))
    secret = base64.b32encode(_decrypted(session[_BEGUN])).decode()
    query = urlencode({"secret": secret, "issuer": "medrcube"}, quote_via=quote)
    return AuthenticatorSetup(
        address=f"otpauth://totp/{quote(f'medrcube:{user.email}', safe=':')}?{query}", secret=secret
    )


def confirm_setup(user: User, session: SessionBase, code: str) -> list[str]:
    """Confirm that the authenticator works and activate it; return the recovery codes.

    The session continues under a new key; all other sessions are no longer ``is_proven``.

    Raises:
        InvalidAnswerError: the code is wrong, no setup was begun in this session, or another
            session was faster.
    """
    now = timezone.now()
    secret = session.get(_BEGUN)
    if secret is None:
        raise InvalidAnswerError(_THERE if has_second_factor(user) else _WRONG)
    try:
        with transaction.atomic():
            factor = SecondFactor.objects.create(user=user, secret=secret, confirmed_at=now)
            if not _spend_totp(factor, code, now):
                raise InvalidAnswerError(_WRONG)
            record_events(now, _entry(user, user, "set"))
            codes = _make_recovery_codes(factor)
    except IntegrityError:
        raise InvalidAnswerError(_THERE) from None
    del session[_BEGUN]
    session.cycle_key()
    session[_PROVEN] = factor.pk
    return codes


def spend_code(user: User, typed: str, now: datetime | None = None) -> bool:
    """Whether an authenticator or recovery code is right; the code is used up.

    Raises:
        InvalidAnswerError: the secret was encrypted with another key of the server.
    """
    now = now or timezone.now()
    factor = SecondFactor.objects.filter(user=user).first()
    if factor is None:
        return False
    if _spend_totp(factor, typed, now):
        return True
    with transaction.atomic():
        spent, _ = RecoveryCode.objects.filter(factor=factor, digest=_digest(typed)).delete()
        if spent:
            remaining = RecoveryCode.objects.filter(factor=factor).count()
            record_events(now, _entry(user, user, "recovery_code_used", left=remaining))
    return bool(spent)


def new_recovery_codes(user: User, typed: str) -> list[str]:
    """Replace the recovery codes.

    Raises:
        InvalidAnswerError: the code is wrong.
    """
    if not spend_code(user, typed):
        raise InvalidAnswerError(_WRONG)
    factor = SecondFactor.objects.get(user=user)
    with transaction.atomic():
        RecoveryCode.objects.filter(factor=factor).delete()
        record_events(timezone.now(), _entry(user, user, "recovery_codes_made"))
        return _make_recovery_codes(factor)


def remove_second_factor(
    actor: User,
    user: User,
    typed: str | None = None,
    *,
    note: str = "",
) -> None:
    """Remove the second factor of a user, until they set up a new one.

    Args:
        actor: the user, or the person who manages accounts.
        user: owner of the second factor.
        typed: a code, if the user removes it.
        note: reason for the trail.

    Raises:
        InvalidAnswerError: the code is wrong, or there is no second factor.
    """
    if typed is not None and not spend_code(user, typed):
        raise InvalidAnswerError(_WRONG)
    with transaction.atomic():
        gone, _ = SecondFactor.objects.filter(user=user).delete()
        if not gone:
            raise InvalidAnswerError("this account has no second factor")
        what = "removed" if actor == user else "reset"
        record_events(timezone.now(), _entry(actor, user, what, **({"note": note} if note else {})))


def reset_reviewer(user_id: int, actor: User, note: str) -> None:
    """Reset the second factor of a reviewer who lost authenticator and recovery codes.

    Raises:
        InvalidAnswerError: the account is not a reviewer's or has no second factor, or the note
        does
            not state how the person was identified.
    """
    user = User.objects.filter(pk=user_id, role=Role.REVIEWER).first()
    if user is None:
        raise InvalidAnswerError("a manager can reset the second factor of reviewers only")
    if not note.strip():
        raise InvalidAnswerError("state how you verified the identity of the person asking")
    remove_second_factor(actor, user, note=note)


def _spend_totp(factor: SecondFactor, typed: str, now: datetime) -> bool:
    """Accept an authenticator code; of two concurrent uses, only one succeeds."""
    digits = "".join(typed.split())
    if not (digits.isascii() and digits.isdigit() and len(digits) == 6):
        return False
    codes = TOTP(_decrypted(factor.secret))
    codes.time = now.timestamp()
    if not codes.verify(int(digits), tolerance=_SKEW, min_t=factor.last_step + 1):
        return False
    step = codes.t()
    earlier = SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step)
    return earlier.update(last_step=step) == 1


def _make_recovery_codes(factor: SecondFactor) -> list[str]:
    codes = [random_password() for _ in range(_CODES)]
    RecoveryCode.objects.bulk_create(
        RecoveryCode(factor=factor, digest=_digest(code)) for code in codes
    )
    return codes


def _digest(code: str) -> str:
    plain = "".join(code.split()).replace("-", "").casefold()
    return salted_hmac("medrcube.review.recovery_code", plain, algorithm="sha256").hexdigest()


def _key() -> Fernet:
    derived = salted_hmac(
        "medrcube.review.accounts.second_factor", "key", algorithm="sha256"
    ).digest()
    return Fernet(base64.urlsafe_b64encode(derived))


def _encrypted(secret: bytes) -> str:
    return _key().encrypt(secret).decode()


def _decrypted(sealed: str) -> bytes:
    try:
        return _key().decrypt(sealed.encode())
    except InvalidToken:
        raise InvalidAnswerError(_UNREADABLE) from None


def _entry(actor: User, user: User, what: str, **body: object) -> NewEvent:
    return account_event(actor, f"second_factor_{what}", user, **body)
