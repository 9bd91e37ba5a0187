"""Error pages; Django passes the handlers' arguments by name."""

# ruff: noqa: ARG001

from __future__ import annotations

import sys

from django.contrib.auth.models import AnonymousUser
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

__all__ = ["bad_request", "csrf_failure", "error_page", "forbidden", "not_found", "server_error"]

_ADVICE = {
    400: "Go back and try again from the previous page.",
    403: "The page was open for too long, or you have signed in again since. Reload it, then "
    "submit again.",
    404: "The address is wrong, its content no longer exists, or your role has no access to it.",
    409: "This page has changed since you opened it. Reload it and check what is new.",
    422: "Go back, correct it, and submit again.",
    500: "The error is in the server log; nothing was stored partially. If it persists, tell the "
    "server's administrator when it happened.",
    503: "Reload the page in a minute. If the problem persists, tell the server's administrator.",
}
_AWAY = "The database cannot be reached; answers already stored are safe."
_TITLES = {
    400: "Invalid request",
    403: "The form was not submitted from this site",
    404: "Page not found",
    409: "Changed by someone else",
    422: "Incomplete or invalid input",
    500: "Server error",
    503: "Temporarily unavailable",
}


def error_page(
    request: HttpRequest | None,
    status: int,
    reason: str = "",
    typed: str = "",
    *,
    title: str = "",
    advice: str = "",
) -> HttpResponse:
    """Render a page that states what went wrong and what to do.

    Args:
        request: ``None`` if its session cannot be trusted.
        status: 400, 403, 404, 409, 422, 500 or 503.
        reason: specific reason, shown above the general text.
        typed: text that the user had typed, so that it can be copied.
        title: replaces the default title of the status.
        advice: replaces the default advice of the status.
    """
    title, advice = title or _TITLES[status], advice or _ADVICE[status]
    if request is not None and request.headers.get("X-Requested-With") == "fetch":
        return HttpResponse(reason or title, status=status, content_type="text/plain")
    context: dict[str, object] = {
        "title": title,
        "reason": reason,
        "advice": advice,
        "typed": typed,
    }
    if request is None:
        context |= {"user": AnonymousUser(), "messages": ()}
    page = render_to_string("review/failure.html", context, request)
    return HttpResponse(page, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 400; neither host nor session can be trusted."""
    return error_page(None, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    return error_page(request, 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return 403 for a form without a valid CSRF token, and show the typed text again."""
    return error_page(request, 403, typed=request.POST.get("comment", ""))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    return error_page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return 500, or 503 if the database is unreachable; the page does not query it."""
    script = request if request.headers.get("X-Requested-With") == "fetch" else None
    if isinstance(sys.exception(), OperationalError | InterfaceError) and _database_is_away():
        reply = error_page(script, 503, _AWAY)
        reply["Retry-After"] = "60"
        return reply
    return error_page(script, 500)


def _database_is_away() -> bool:
    """Whether a database connection failed or was lost."""
    return connection.connection is None or not connection.is_usable()
