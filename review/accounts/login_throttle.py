"""Throttling of sign-in attempts, counted in the database and thus shared by all processes.

An attempt is counted before the password is checked, so concurrent attempts count too. There are
three counts: one account from one address, one account from any address, any account from one
address. Only a keyed hash is stored, which reveals neither account nor address.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from medrcube.review.models import SignInAttempt

__all__ = ["clear_attempts", "client_address", "count_attempt"]


def count_attempt(account: str, address: str) -> bool:
    """Count a sign-in attempt; return false if there were too many and it must be refused."""
    now = timezone.now()
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
    """Reset the count of this account at this address after a successful sign-in.

    The other two counts are decreased only by this attempt, so that nobody can clear them with
    their own account.
    """
    pair, *others = (who for who, _ in _keyed_limits(account, address))
    with transaction.atomic():
        SignInAttempt.objects.filter(who=pair).delete()
        for who in others:
            latest = SignInAttempt.objects.filter(who=who).order_by("-at", "-pk").first()
            if latest is not None:
                latest.delete()


def client_address(request: HttpRequest) -> str:
    """Return the client address seen by the server; forwarded headers are not trusted here."""
    return str(request.META.get("REMOTE_ADDR", ""))


def _keyed_limits(account: str, address: str) -> Iterator[tuple[str, int]]:
    """Yield keyed hash and limit of each count, the (account, address) pair first."""
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
