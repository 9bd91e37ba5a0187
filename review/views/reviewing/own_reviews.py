"""Views to list a reviewer's own reviews and to undo one."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.errors import ConflictError
from medrcube.review.models import Claim, Role
from medrcube.review.reviewing import voiding
from medrcube.review.reviewing.questionnaire import Decision
from medrcube.review.views.error_pages import error_page
from medrcube.review.views.keyset_paging import page_of
from medrcube.review.views.reviewing import sheet
from medrcube.review.views.reviewing.steps import next_item

__all__ = ["own_reviews_page", "post_undo"]

_ENDS = {"voided": "voided", "undone": "retracted by you"}
_TONES = {Decision.ACCEPT: "good", Decision.REVISE: "open", Decision.REJECT: "bad"}


@allow(Role.REVIEWER)
@require_safe
def own_reviews_page(request: HttpRequest) -> HttpResponse:
    """List the reviewer's submitted reviews, newest first."""
    user, now = signed_in_user(request), timezone.now()
    own_claims = Claim.objects.filter(user=user, review__isnull=False)
    page = page_of(own_claims.values("id"), request, "id", newest_first=True)
    related = own_claims.select_related("review", "version__item").prefetch_related(
        "review__reasons"
    )
    claims = related.in_bulk([row["id"] for row in page.rows])
    rows = []
    for row in page.rows:
        claim = claims[row["id"]]
        decision = Decision(claim.review.decision)
        state = _review_status(claim)
        rows.append((claim, decision, _TONES[decision], state, voiding.undo_until(claim, now)))
    return render(request, "review/mine.html", {"page": page, "rows": rows})


def _review_status(claim: Claim) -> str:
    """Return whether a review counts; decisions of others are not revealed."""
    if claim.outcome in _ENDS:
        return _ENDS[claim.outcome]
    if claim.version.number != claim.version.item.version:
        return "of an earlier wording"
    return "counts" if claim.blinded else "counts, not blind"


@allow(Role.REVIEWER)
@require_POST
def post_undo(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Undo a review; the item is presented again with the typed text."""
    user = signed_in_user(request)
    claim = Claim.objects.filter(token=token, user=user, review__isnull=False).first()
    if claim is None:
        raise Http404
    try:
        voiding.take_back(token, user, sheet.form_values(claim.review))
    except ConflictError as error:
        title = "This review cannot be retracted"
        return error_page(request, 409, str(error), title=title, advice="Your review still counts.")
    messages.info(
        request,
        "Your review has been retracted and reopened here; submit it again when it is correct.",
    )
    return next_item(request, user)
