"""Middleware: isolation headers, same-origin forms, session timeouts."""

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
    """Prevents other sites from loading our resources, and shared caches from storing replies."""

    def __init__(self, get_response: _Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the headers to the response."""
        response = self._get_response(request)
        response.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
        response.setdefault("Cache-Control", "private, no-store")
        return response


class OwnPagesMiddleware:
    """Accepts a form only from pages of the same origin, if the browser states the sender.

    In addition to the CSRF token and ``Origin``: another program on the same machine has the same
    host name and thus is the same site for cookies, but not the same origin for Fetch Metadata.
    """

    def __init__(self, get_response: _Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Reject requests from other pages; "none" means that the user initiated the request."""
        sent_from = request.headers.get("Sec-Fetch-Site", "none")
        if request.method not in _SAFE and sent_from not in ("same-origin", "none"):
            return csrf_failure(request)
        return self._get_response(request)


class SessionEndMiddleware:
    """Ends a session that was idle for half an hour or is older than half a day.

    Also ends a session that was not verified with the account's current second factor.
    """

    def __init__(self, get_response: _Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """End the session, or record the activity."""
        if isinstance(request.user, User):
            now = int(timezone.now().timestamp())
            began = request.session.setdefault("began", now)
            last_seen = request.session.get("seen", now)
            idle, age = now - last_seen, now - began
            over = idle > settings.SESSION_IDLE_SECONDS or age > settings.SESSION_LONGEST_SECONDS
            if over or not is_proven(request.session, request.user):
                logout(request)
            elif now - last_seen >= 60 or "seen" not in request.session:
                request.session["seen"] = now  # at most once a minute: every write is a transaction
        return self._get_response(request)
