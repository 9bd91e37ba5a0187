"""Landing page and health check."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from medrcube.review.accounts.permissions import EVERYONE, allow, signed_in_user
from medrcube.review.models import Item, Role
from medrcube.review.reviewing.state_machine import ReviewState

__all__ = ["health", "home"]


@allow(*EVERYONE)
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Landing page with the tasks of a role."""
    user = signed_in_user(request)
    if user.role == Role.REVIEWER:
        return redirect("queue")
    context = {
        "adjudication": _count_in(ReviewState.ADJUDICATION),
        "quarantine": _count_in(ReviewState.QUARANTINED),
        "revision": _count_in(ReviewState.NEEDS_REVISION),
    }
    return render(request, "review/home.html", context)


@require_safe
def health(_request: HttpRequest) -> HttpResponse:
    """Health check: returns "ok" if the database responds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain")


def _count_in(state: ReviewState) -> int:
    return Item.objects.filter(state=state).count()
