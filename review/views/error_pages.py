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
    400: "Go back and try it again from the page before.",
    403: "It was open for too long, or you have signed in anew since. Load it again, then send it.",
    404: "The address is wrong, what it showed is gone, or it is not meant for your role.",
    409: "What you looked at has changed since you opened it. Load it again and look what is new.",
    422: "Go back, mend it, and send it again.",
    500: "It stands in the log of the server; nothing half-done was stored. If it stays, tell "
    "whoever runs this server when it happened.",
    503: "Load it again in a minute. If it stays, tell whoever runs this server.",
}
_AWAY = "The database cannot be reached; answers already stored are safe."
_TITLES = {
    400: "This request makes no sense",
    403: "This was not sent from a page of ours",
    404: "There is no such page",
    409: "Somebody else was faster",
    422: "Something is missing or does not fit",
    500: "Something broke on our side",
    503: "Not available for now",
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
