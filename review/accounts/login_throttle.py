"""Throttle of sign-in attempts, counted in the database and so shared by all processes.

An attempt is counted before the password is looked at, so attempts that run side by side count
too. Three counts: one account from one address, one account from anywhere, one address with any
account. What is stored is a keyed hash, which says neither the account nor the address.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from medrcube.review.models import SignInAttempt

__all__ = ["clear_attempts", "client_address", "count_attempt"]


def count_attempt(account: str, address: str, now: datetime | None = None) -> bool:
    """Count an attempt to sign in; false when there were too many and it must not be made."""
    now = now or timezone.now()
    counted = dict(_keyed_limits(account, address))
    since = now - timedelta(seconds=settings.SIGN_IN_WINDOW_SECONDS)
    with transaction.atomic():
        SignInAttempt.objects.filter(at__lte=since).delete()
        recent = list(SignInAttempt.objects.filter(who__in=counted).values_list("who", flat=True))
        if any(recent.count(who) >= limit for who, limit in counted.items()):
            return False
        SignInAttempt.objects.bulk_create(SignInAttempt(who=who, at=now) for who in counted)
    return True


def clear_attempts(account: str, address: str) -> None:
    """The password was right: this account at this address starts again from nothing.

    The other two counts lose this one attempt only, so nobody clears them with an account of
    their own.
    """
    pair, *others = (who for who, _ in _keyed_limits(account, address))
    with transaction.atomic():
        SignInAttempt.objects.filter(who=pair).delete()
        for who in others:
            latest = SignInAttempt.objects.filter(who=who).order_by("-at", "-pk").first()
            if latest is not None:
                latest.delete()


def client_address(request: HttpRequest) -> str:
    """Where a request comes from, as the server saw it; a header from outside is not believed."""
    return str(request.META.get("REMOTE_ADDR", ""))


def _keyed_limits(account: str, address: str) -> Iterator[tuple[str, int]]:
    """Keyed hash and limit of each count, that of the pair first."""
    limits = settings.SIGN_IN_LIMITS
    for name, value in (
        ("pair", f"{account}\n{address}"),
        ("account", account),
        ("address", address),
    ):
        digest = salted_hmac(
            "medrcube.review.accounts.login_throttle", f"{name}\n{value}", algorithm="sha256"
        )
        yield digest.hexdigest(), limits[name]
