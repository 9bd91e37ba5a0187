"""Views of quarantined items and privacy incidents."""

from __future__ import annotations

import json
from collections.abc import Iterable

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.errors import ConflictError, IllegalTransitionError, InvalidAnswerError
from medrcube.review.models import Event, Item, Role
from medrcube.review.reviewing import decisions
from medrcube.review.reviewing.state_machine import ReviewState, Transition
from medrcube.review.views.error_pages import error_page
from medrcube.review.views.forms import QuarantineForm
from medrcube.review.views.keyset_paging import page_of
from medrcube.review.views.managing import item_record
from medrcube.review.visibility import privacy_incidents

__all__ = ["post_decision", "post_incident_decision", "quarantine_page"]

_IN_QUARANTINE = Q(items__state=ReviewState.QUARANTINED)
_COLUMNS = ("id", "task", "anatomy", "modality", "version", "gold_defect")


@allow(Role.MANAGER)
@require_safe
def quarantine_page(request: HttpRequest) -> HttpResponse:
    """List quarantined items and incidents, each with a decision form."""
    return _list(request)


@allow(Role.MANAGER)
@require_POST
def post_decision(request: HttpRequest, item: str) -> HttpResponse:
    """Return an item to the queue, or reject it."""
    user = signed_in_user(request)
    row = item_record.visible_item(item, user)
    values = QuarantineForm.read(request.POST)
    decision = values["decision"]
    if decision not in ("clear", "reject"):
        return _list(request, row, "choose: restore or reject")
    try:
        decisions.decide_quarantine(
            item, values["version"], user, clear=decision == "clear", note=values["note"]
        )
    except InvalidAnswerError as error:
        if row.state != ReviewState.QUARANTINED:
            return error_page(request, 409, "This item is not in quarantine.", values["note"])
        return _list(request, row, str(error))
    except (ConflictError, IllegalTransitionError) as error:
        return error_page(request, 409, str(error), values["note"])
    outcome = "is back in the queue" if decision == "clear" else "is rejected"
    messages.success(request, f"Item {item} {outcome}.")
    return redirect("quarantine")


@allow(Role.MANAGER)
@require_POST
def post_incident_decision(request: HttpRequest, incident: int) -> HttpResponse:
    """Return or reject all items of one privacy incident."""
    values = QuarantineForm.read(request.POST)
    decision = values["decision"]
    if decision not in ("clear", "reject"):
        return _list(request, error="choose: restore or reject", report=incident)
    clear, note = decision == "clear", values["note"]
    try:
        count = privacy_incidents.decide_incident(
            incident, signed_in_user(request), clear=clear, note=note
        )
    except InvalidAnswerError as error:
        return _list(request, error=str(error), report=incident)
    except (ConflictError, IllegalTransitionError) as error:
        return error_page(request, 409, str(error), note)
    outcome = "back in the queue" if clear else "rejected"
    messages.success(request, f"{count} items are {outcome}.")
    return redirect("quarantine")


def _list(
    request: HttpRequest, failed: Item | None = None, error: str = "", report: int = 0
) -> HttpResponse:
    quarantined = Item.objects.filter(state=ReviewState.QUARANTINED)
    if failed is not None:
        quarantined = quarantined.filter(
            pk__gte=failed.pk
        )  # the page must contain the item with the typed text
    page = page_of(quarantined.values(*_COLUMNS), request, "id")
    why = _last_dangers(row["id"] for row in page.rows)
    context = {
        "page": page,
        "rows": [(row, why.get(row["id"])) for row in page.rows],
        "reports": privacy_incidents.open_incidents().annotate(
            held=Count("items", filter=_IN_QUARANTINE)
        ),
        "failed_report": report,
        "failed": failed.pk if failed else "",
        "note": request.POST.get("note", ""),
        "error": error,
    }
    status = 422 if error else 200
    return render(request, "review/managing/quarantine.html", context, status=status)


def _last_dangers(ids: Iterable[str]) -> dict[str, dict[str, object]]:
    """Return the last quarantine event of each item: actor, time, reasons and note, if any."""
    objects = {f"item:{item}": item for item in ids}
    kind = f"item.{Transition.DANGER_SEEN.value}"
    dangers: dict[str, dict[str, object]] = {}
    for event in Event.objects.filter(object__in=objects, kind=kind).order_by("number"):
        body = json.loads(event.body)
        dangers[objects[event.object]] = {
            "at": event.at,
            "reasons": [item_record.reason_words(code) for code in body.get("reasons", ())],
            "note": body.get("note", ""),
        }
    return dangers
