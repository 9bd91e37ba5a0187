"""One-time codes of an authenticator as a second factor, and recovery codes for a lost one.

django-otp computes the codes (RFC 6238) and refuses one that was used. Its own tables are not used:
they hold secrets and recovery codes in clear. Here a secret is encrypted (Fernet of the package
cryptography) and of a recovery code only a keyed digest is stored.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, urlencode

from cryptography.fernet import Fernet, InvalidToken
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django_otp.oath import TOTP

from medrcube.review.audit import Entry, record
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import RecoveryCode, Role, SecondFactor, User
from medrcube.review.people import random_password

__all__ = ["SetUp", "begin", "check", "confirm", "has_one", "new_codes", "remove", "reset_reader"]

_BYTES = 20
"""Of a secret, as RFC 4226 recommends."""
_SKEW = 1
"""Steps of 30 seconds by which a clock may be wrong, either way."""
_CODES = 10
_WRONG = "this code is not right, or was used already; wait for the next one"
_UNREADABLE = (
    "your second factor was set up under another key of this server and cannot be read; ask an "
    "administrator to reset it"
)


@dataclass(frozen=True, slots=True)
class SetUp:
    """What an authenticator is told: an address for its camera, and the same secret to type."""

    address: str
    secret: str


def has_one(user: User) -> bool:
    """Whether this person's codes are asked for."""
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).exists()


def begin(user: User) -> SetUp:
    """A secret for an authenticator; the same one until it is confirmed.

    Raises:
        InvalidAnswerError: the account has a second factor already.
    """
    factor, _ = SecondFactor.objects.get_or_create(
        user=user, defaults={"secret": _sealed(secrets.token_bytes(_BYTES))}
    )
    if factor.confirmed_at is not None:
        raise InvalidAnswerError("this account has a second factor already; remove it first")
    secret = base64.b32encode(_opened(factor)).decode()
    query = urlencode({"secret": secret, "issuer": "medrcube"}, quote_via=quote)
    return SetUp(
        address=f"otpauth://totp/{quote(f'medrcube:{user.email}', safe=':')}?{query}", secret=secret
    )


def confirm(user: User, code: str, now: datetime | None = None) -> list[str]:
    """The authenticator works: from now on its codes are asked for. Gives the recovery codes.

    Raises:
        InvalidAnswerError: the code is wrong, or nothing was begun.
    """
    now = now or timezone.now()
    with transaction.atomic():
        factor = SecondFactor.objects.filter(user=user, confirmed_at=None).first()
        if factor is None or not _spend_code(factor, code, now):
            raise InvalidAnswerError(_WRONG)
        SecondFactor.objects.filter(pk=factor.pk).update(confirmed_at=now)
        record(now, _entry(user, user, "set"))
        return _fresh(factor)


def check(user: User, typed: str, now: datetime | None = None) -> bool:
    """Whether a code of the authenticator, or a recovery code, is right; it is spent by this.

    Raises:
        InvalidAnswerError: the secret was encrypted under another key of the server.
    """
    now = now or timezone.now()
    factor = SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).first()
    if factor is None:
        return False
    if _spend_code(factor, typed, now):
        return True
    with transaction.atomic():
        spent, _ = RecoveryCode.objects.filter(factor=factor, digest=_digest(typed)).delete()
        if spent:
            left = RecoveryCode.objects.filter(factor=factor).count()
            record(now, _entry(user, user, "recovery_code_used", left=left))
    return bool(spent)


def new_codes(user: User, typed: str, now: datetime | None = None) -> list[str]:
    """Other recovery codes in place of the old ones.

    Raises:
        InvalidAnswerError: the code is wrong.
    """
    if not check(user, typed, now):
        raise InvalidAnswerError(_WRONG)
    factor = SecondFactor.objects.get(user=user)
    with transaction.atomic():
        RecoveryCode.objects.filter(factor=factor).delete()
        record(now or timezone.now(), _entry(user, user, "recovery_codes_made"))
        return _fresh(factor)


def remove(
    actor: User,
    user: User,
    typed: str | None = None,
    *,
    note: str = "",
    now: datetime | None = None,
) -> None:
    """Ask this person for no second factor any more; until they set one up again.

    Args:
        actor: the person, or whoever looks after accounts.
        user: whose it is.
        typed: a code, where the person does it.
        note: why, for the trail.
        now: for tests.

    Raises:
        InvalidAnswerError: the code is wrong, or there is no second factor.
    """
    if typed is not None and not check(user, typed, now):
        raise InvalidAnswerError(_WRONG)
    with transaction.atomic():
        gone, _ = SecondFactor.objects.filter(user=user).delete()
        if not gone:
            raise InvalidAnswerError("this account has no second factor")
        what = "removed" if actor == user else "reset"
        record(now or timezone.now(), _entry(actor, user, what, **({"note": note} if note else {})))


def reset_reader(user_id: int, actor: User, note: str) -> None:
    """What a manager does for a reader who lost the authenticator and the recovery codes.

    Raises:
        InvalidAnswerError: it is no reader's, there is none, or it is not said how the person was
            known to be who they are.
    """
    user = User.objects.filter(pk=user_id, role=Role.REVIEWER).first()
    if user is None:
        raise InvalidAnswerError("a manager resets the second factor of reviewers alone")
    if not note.strip():
        raise InvalidAnswerError("say how you know that it is this person who asks")
    remove(actor, user, note=note)


def _spend_code(factor: SecondFactor, typed: str, now: datetime) -> bool:
    """Take a code of the authenticator; of two that come at once, one."""
    digits = "".join(typed.split())
    if not (digits.isascii() and digits.isdigit() and len(digits) == 6):
        return False
    codes = TOTP(_opened(factor))
    codes.time = now.timestamp()
    if not codes.verify(int(digits), tolerance=_SKEW, min_t=factor.last_step + 1):
        return False
    step = codes.t()
    earlier = SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step)
    return earlier.update(last_step=step) == 1


def _fresh(factor: SecondFactor) -> list[str]:
    codes = [random_password() for _ in range(_CODES)]
    RecoveryCode.objects.bulk_create(
        RecoveryCode(factor=factor, digest=_digest(code)) for code in codes
    )
    return codes


def _digest(code: str) -> str:
    plain = "".join(code.split()).replace("-", "").casefold()
    return salted_hmac("medrcube.review.recovery_code", plain, algorithm="sha256").hexdigest()


def _key() -> Fernet:
    derived = salted_hmac("medrcube.review.second_factor", "key", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(derived))


def _sealed(secret: bytes) -> str:
    return _key().encrypt(secret).decode()


def _opened(factor: SecondFactor) -> bytes:
    try:
        return _key().decrypt(factor.secret.encode())
    except InvalidToken:
        raise InvalidAnswerError(_UNREADABLE) from None


def _entry(actor: User, user: User, what: str, **body: object) -> Entry:
    return Entry(
        actor=actor.pseudonym,
        kind=f"person.second_factor_{what}",
        object=f"person:{user.pseudonym}",
        body=body,
    )
