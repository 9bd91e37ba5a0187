"""Error pages; Django calls the handlers by the names of their arguments."""

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
    """A page that says what went wrong and what to do.

    Args:
        request: ``None`` where it cannot be trusted to know who is signed in.
        status: 400, 403, 404, 409, 422, 500 or 503.
        reason: what exactly went wrong, shown above the general words.
        typed: what the person had typed, so that it can be copied.
        title: instead of the general one of the status.
        advice: instead of the general one of the status.
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
    """400: not even the host or the session can be trusted."""
    return error_page(None, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    return error_page(request, 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form without our token; a comment that was typed in it is shown again."""
    return error_page(request, 403, typed=request.POST.get("comment", ""))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    return error_page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 while the database is away; nobody is looked up in it."""
    script = request if request.headers.get("X-Requested-With") == "fetch" else None
    if isinstance(sys.exception(), OperationalError | InterfaceError) and _database_is_away():
        reply = error_page(script, 503, _AWAY)
        reply["Retry-After"] = "60"
        return reply
    return error_page(script, 500)


def _database_is_away() -> bool:
    """Whether no connection could be made, or the one that was there is lost."""
    return connection.connection is None or not connection.is_usable()
