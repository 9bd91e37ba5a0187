"""Views to report patient data in an image: one click from any page, one confirmation."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Claim, Item, Role, User
from medrcube.review.views.error_pages import error_page
from medrcube.review.views.forms import PersonalDataForm
from medrcube.review.views.managing import item_record
from medrcube.review.visibility import privacy_incidents

__all__ = ["of_claim", "of_item"]


@allow(Role.REVIEWER)
@require_http_methods(["GET", "HEAD", "POST"])
def of_claim(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Report an item that this reviewer holds or held, answered or not."""
    user = signed_in_user(request)
    claim = Claim.objects.filter(token=token, user=user).select_related("version__item").first()
    if claim is None:
        raise Http404
    at = reverse("review-personal-data", kwargs={"token": token})
    back = reverse("review", kwargs={"token": token})
    return _report_page(request, claim.version.item, user, at, back)


@allow(Role.ADJUDICATOR, Role.MANAGER)
@require_http_methods(["GET", "HEAD", "POST"])
def of_item(request: HttpRequest, item: str) -> HttpResponse:
    """Report any item."""
    user = signed_in_user(request)
    row = item_record.visible_item(item, user)
    at = reverse("item-personal-data", kwargs={"item": item})
    return _report_page(request, row, user, at, reverse("item", kwargs={"item": item}))


def _report_page(request: HttpRequest, item: Item, user: User, at: str, back: str) -> HttpResponse:
    if request.method != "POST":
        context = {
            "out": item.state in privacy_incidents.UNSEEN,
            "at": at,
            "back": back,
            "items": 0,
        }
        if user.role == Role.MANAGER:  # to a reviewer, the number could reveal gold items
            context["items"] = privacy_incidents.linked_items(item).count()
        return render(request, "review/personal_data.html", context)
    try:
        PersonalDataForm.read(request.POST)
        privacy_incidents.report_incident(item.pk, user)
    except InvalidAnswerError as error:
        return error_page(request, 422, str(error))
    except ConflictError as error:
        return error_page(request, 409, str(error))
    messages.success(
        request, "Thank you. The images have been removed from the queue; a manager will decide."
    )
    return redirect("home")
