"""View of the audit trail and its verification."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from medrcube.review.accounts.permissions import allow
from medrcube.review.audit_trail import event_chain, replay
from medrcube.review.audit_trail.event_chain import ChainHead
from medrcube.review.models import Event, Role
from medrcube.review.views.forms import HeadForm
from medrcube.review.views.keyset_paging import page_of, query_text

__all__ = ["trail_page"]

_COLUMNS = ("number", "at", "actor", "kind", "object", "body")
_FILTERS = (("object", "About"), ("actor", "Who"), ("kind", "What"))


@allow(Role.ADMINISTRATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def trail_page(request: HttpRequest) -> HttpResponse:
    """List events, newest first; POST verifies the chain and compares the tables with it."""
    verdict, error = None, ""
    if request.method == "POST":
        values = HeadForm.read(request.POST)
        noted, number = values["sha256"].lower(), values["number"]
        if noted and number < 1:
            error = "a head consists of a number and a hash; enter both, or neither"
        else:
            verdict = replay.verify_trail(ChainHead(number=number, sha256=noted) if noted else None)
    filters = {name: query_text(request, name) for name, _ in _FILTERS}
    events = Event.objects.filter(**{name: value for name, value in filters.items() if value})
    context = {
        "page": page_of(events.values(*_COLUMNS), request, "number", newest_first=True),
        "filters": [(name, text, filters[name]) for name, text in _FILTERS],
        "narrowed": any(filters.values()),
        "head": event_chain.chain_head(),
        "verdict": verdict,
        "error": error,
    }
    return render(request, "review/managing/trail.html", context, status=422 if error else 200)
