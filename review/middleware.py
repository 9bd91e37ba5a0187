"""Middleware: isolation headers, same-origin forms, session time-outs."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from medrcube.review.accounts.second_factor import is_proven
from medrcube.review.models import User
from medrcube.review.views.error_pages import csrf_failure

__all__ = ["IsolationMiddleware", "OwnPagesMiddleware", "SessionEndMiddleware"]

_Handler = Callable[[HttpRequest], HttpResponse]
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class IsolationMiddleware:
    """Nothing of ours is loaded by another site, and a reply is kept by no shared cache."""

    def __init__(self, get_response: _Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the headers."""
        response = self._get_response(request)
        response.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
        response.setdefault("Cache-Control", "private, no-store")
        return response


class OwnPagesMiddleware:
    """Takes a form only from pages of this very address, where the browser says who sent it.

    Beside the token and the ``Origin``: another program on the same machine has the same host
    name, so for cookies it is the same site; for Fetch Metadata it is not the same origin.
    """

    def __init__(self, get_response: _Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Refuse what another page sends; "none" is the person themselves, without any page."""
        sent_from = request.headers.get("Sec-Fetch-Site", "none")
        if request.method not in _SAFE and sent_from not in ("same-origin", "none"):
            return csrf_failure(request)
        return self._get_response(request)


class SessionEndMiddleware:
    """Ends a session that was idle for half an hour, or that is older than half a day.

    So does one in which no code was given of the second factor that the account has by now.
    """

    def __init__(self, get_response: _Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """End the session, or note that it is in use."""
        if isinstance(request.user, User):
            now = int(timezone.now().timestamp())
            began = request.session.setdefault("began", now)
            seen = request.session.get("seen", now)
            idle, age = now - seen, now - began
            over = idle > settings.SESSION_IDLE_SECONDS or age > settings.SESSION_LONGEST_SECONDS
            if over or not is_proven(request.session, request.user):
                logout(request)
            elif now - seen >= 60 or "seen" not in request.session:
                request.session["seen"] = now  # once a minute: every write is a transaction
        return self._get_response(request)
