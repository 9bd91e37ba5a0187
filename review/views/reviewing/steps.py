"""Views of the review: claim an item, answer it blind, review it."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.assigning.outlook import workload_of
from medrcube.review.assigning.outstanding import why_queue_empty
from medrcube.review.errors import (
    ConflictError,
    IllegalTransitionError,
    InvalidAnswerError,
    StaleClaimError,
)
from medrcube.review.models import Claim, Draft, ItemVersion, Review, Role, User
from medrcube.review.reviewing import claims, steps, voiding
from medrcube.review.reviewing.open_answers import (
    PLACES,
    RIGHT,
    SHOW_PLACES,
    TYPED_FIELDS,
    clicked,
    read_answer,
    read_target,
)
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.sql import claim_queries
from medrcube.review.reviewing.sql.claim_queries import ClaimContext
from medrcube.review.reviewing.state_machine import ReviewState
from medrcube.review.reviewing.step_forms import (
    BlindForm,
    DraftValues,
    GiveBackForm,
    ProposalForm,
    ReviewForm,
    StepForm,
)
from medrcube.review.views.reviewing import sheet
from medrcube.review.wording.proposals import (
    Wording,
    check_wording,
    flaws_of,
    flaws_to_json,
    wording_of,
)

__all__ = [
    "next_item",
    "post_answer",
    "post_draft",
    "post_give_back",
    "post_review",
    "post_wording_check",
    "queue_page",
    "review_page",
]

_LOST = (
    "you no longer have this item: the time ran out, or it was returned or changed; what you typed "
    "is kept"
)


@allow(Role.REVIEWER)
@require_http_methods(["GET", "HEAD", "POST"])
def queue_page(request: HttpRequest) -> HttpResponse:
    """Show the reviewer's queue; POST claims the next item."""
    user = signed_in_user(request)
    if request.method == "POST":
        return next_item(request, user)
    now = timezone.now()
    mine = Review.objects.filter(claim__user=user)
    return render(
        request,
        "review/queue.html",
        {
            "held": claims.active_claim(user, now),
            "outlook": workload_of(user),
            "lately": mine.filter(submitted_at__gt=now - timedelta(hours=24)).count(),
            "empty": "empty" in request.GET,
            "elsewhere": _held_by_others(user) if "empty" in request.GET else None,
            "nothing": why_queue_empty(user, current_policy()) if "empty" in request.GET else None,
        },
    )


@allow(Role.REVIEWER)
@require_safe
def review_page(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Show step one until it is answered, then step two; a submitted review is read-only."""
    user = signed_in_user(request)
    claim = _claim(token, user)
    if _is_live(claim):
        return _step(request, claim, user)
    if _is_stored(claim):
        until = voiding.undo_until(claim, timezone.now())
        context = {
            **sheet.page_context(claim, user),
            **sheet.stored_sheet(claim),
            "undo_until": until,
        }
        return render(request, "review/stored.html", context)
    return _claim_lost(request, claim, _LOST, _draft_values(claim, user))


@allow(Role.REVIEWER)
@require_POST
def post_answer(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Store step one; the page with the key is a separate request, so it cannot come first."""
    user = signed_in_user(request)
    context = _claim_context(token, user)
    try:
        if _keep_click(request.POST, context, token, user):
            return redirect("review", token=token)
        values = BlindForm(request.POST, context.options, context.target).read()
        typed = BlindForm.draft_values(request.POST)
        steps.answer_blind(token, user, values["answer"], typed=typed)
    except (InvalidAnswerError, ConflictError) as error:
        claim = _claim(token, user)
        if _is_live(claim) and _is_answered(claim):
            text = "You have already answered this; your first answer counts."
            return _step(request, claim, user, text, 409)
        if isinstance(error, InvalidAnswerError):
            return _form_error(request, claim, user, str(error))
        return _claim_lost(request, claim, str(error), request.POST)
    return redirect("review", token=token)


@allow(Role.REVIEWER)
@require_POST
def post_review(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Store step two."""
    user = signed_in_user(request)
    context = _claim_context(token, user)
    if not context.answered:
        claim = _claim(token, user)
        if _is_live(claim):
            return _step(request, claim, user, "Step 1 is missing: answer the question first.", 422)
        return _claim_lost(request, claim, _LOST, request.POST)
    try:
        now = _judged_wording(ItemVersion.objects.get(pk=context.version))
        values = ReviewForm(request.POST, now).read()
        steps.submit_review(
            token, user, values["ruling"], typed=ReviewForm.draft_values(request.POST)
        )
    except InvalidAnswerError as error:
        return _form_error(request, _claim(token, user), user, str(error))
    except (ConflictError, IllegalTransitionError) as error:
        return _claim_lost(request, _claim(token, user), str(error), request.POST)
    messages.success(request, "Your review is stored.")
    return next_item(request, user) if values["then"] == "next" else redirect("queue")


@allow(Role.REVIEWER)
@require_POST
def post_wording_check(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Return the item rules that the proposed wording violates; empty before the key is shown."""
    claim = _claim(token, signed_in_user(request))
    if not _is_answered(claim):
        return JsonResponse({"error": "answer the question first"}, status=409)
    proposed = ProposalForm(request.POST, wording_of(claim.version)).read()["proposal"]
    if proposed is None:
        return JsonResponse({"changed": False, "flaws": []})
    try:
        check_wording(proposed, len(claim.version.options))
    except InvalidAnswerError as error:
        return JsonResponse({"changed": True, "error": str(error), "flaws": []})
    flaws = flaws_to_json(flaws_of(claim.version, proposed))
    return JsonResponse({"changed": True, "flaws": flaws})


@allow(Role.REVIEWER)
@require_POST
def post_draft(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Save the draft and extend the lease; return the time saved and the new expiry."""
    user = signed_in_user(request)
    try:
        form = ReviewForm if _claim_context(token, user).answered else BlindForm
        renewed = _save_draft(request, form, token, user)
    except StaleClaimError as error:
        return JsonResponse({"error": str(error)}, status=409)
    return JsonResponse({"saved": timezone.now().isoformat(), "until": renewed.expires_at})


@allow(Role.REVIEWER)
@require_POST
def post_give_back(request: HttpRequest, token: uuid.UUID) -> HttpResponse:
    """Give the item back without a review."""
    user = signed_in_user(request)
    claim = _claim(token, user)
    skipped = GiveBackForm(request.POST).read()["not_my_field"]
    try:
        claims.give_back(token, user, not_my_field=skipped)
    except StaleClaimError as error:
        return _claim_lost(request, claim, str(error), _draft_values(claim, user))
    text = "You will not get it again." if skipped else "Others can now get it."
    messages.info(request, f"You returned the item to the queue. {text}")
    return redirect("queue")


def _judged_wording(version: ItemVersion) -> Wording:
    """Return the wording with the options that a reviewer judges."""
    wording = wording_of(version)
    if version.target is None:
        return wording
    return replace(wording, options=wording.options[: RIGHT + 1])


def _claim(token: uuid.UUID, user: User) -> Claim:
    """Return a claim of this reviewer, with the columns that contain the key deferred."""
    claims_of_user = Claim.objects.filter(token=token, user=user).select_related(
        "version__picture", "version__overlay", "version__item", "blind"
    )
    secret = ("key", "provenance", "warnings", "item__gold_defect", "item__copied_from")
    claim = claims_of_user.defer(*(f"version__{name}" for name in secret)).first()
    if claim is None:
        raise Http404
    return claim


def _claim_context(token: uuid.UUID, user: User) -> ClaimContext:
    """Return what the steps need of a claim, in one statement instead of six tables."""
    context = claim_queries.find_claim_context(token, user.pk)
    if context is None:
        raise Http404
    return context


def _is_live(claim: Claim) -> bool:
    open_still = claim.released_at is None and claim.submitted_at is None
    return open_still and claim.expires_at > timezone.now()


def _is_stored(claim: Claim) -> bool:
    return claim.submitted_at is not None and claim.released_at is None


def _is_answered(claim: Claim) -> bool:
    return hasattr(claim, "blind")


def _keep_click(post_data: QueryDict, context: ClaimContext, token: uuid.UUID, user: User) -> bool:
    """Save clicked points, or typed ones to be drawn, in the draft; return whether any were sent.

    Raises:
        InvalidAnswerError: the typed points are not a valid answer.
        StaleClaimError: the claim is no longer live.
    """
    target = context.target
    if target is None or target["form"] not in PLACES or context.answered:
        return False
    width, height = target["truth"]["size"]
    values = BlindForm.draft_values(post_data)
    if SHOW_PLACES in post_data:
        read_answer(read_target(target), values)
        claims.renew(token, user, values)
        return True
    places = clicked(target["form"], dict(post_data.lists()), (width, height))
    if places is None:
        return False
    typed = {name for pair in TYPED_FIELDS for name in pair}
    others = {name: value for name, value in values.items() if name not in typed}
    claims.renew(token, user, {**others, "place": places})
    return True


def _step(
    request: HttpRequest,
    claim: Claim,
    user: User,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    values = _draft_values(claim, user)
    if _is_answered(claim):
        page, sheet_context = "review/open.html", sheet.open_sheet(claim, values)
    else:
        page, sheet_context = "review/blind.html", sheet.blind_sheet(claim, values)
    context = {**sheet.page_context(claim, user), **sheet_context, "error": error}
    return render(request, page, context, status=status)


def _form_error(request: HttpRequest, claim: Claim, user: User, error: str) -> HttpResponse:
    """Return 422: the same page with everything typed, which is also saved as a draft."""
    try:
        form = ReviewForm if _is_answered(claim) else BlindForm
        claim.expires_at = _save_draft(request, form, claim.token, user).expires_at
    except StaleClaimError as stale:
        return _claim_lost(request, claim, str(stale), request.POST)
    return _step(request, claim, user, error, 422)


def _claim_lost(
    request: HttpRequest, claim: Claim, error: str, values: QueryDict | DraftValues
) -> HttpResponse:
    """Return 409: the claim is lost; what was typed is saved and shown."""
    typed = dict(values.lists()) if isinstance(values, QueryDict) else values
    context = {
        "error": error,
        "claim": claim,
        "typed": sheet.typed_text(typed, wording_of(claim.version)),
    }
    return render(request, "review/gone.html", context, status=409)


def _save_draft(request: HttpRequest, form: type[StepForm], token: uuid.UUID, user: User) -> Claim:
    return claims.renew(token, user, form.draft_values(request.POST))


def _draft_values(claim: Claim, user: User) -> DraftValues:
    row = Draft.objects.filter(version_id=claim.version_id, user=user).first()
    return row.body if row else {}


def next_item(request: HttpRequest, user: User) -> HttpResponse:
    """Redirect the reviewer to their next item."""
    try:
        claim = claims.claim_next(user)
    except ConflictError as error:
        messages.warning(request, str(error).capitalize())
        return redirect("queue")
    if claim is None:
        reply = redirect("queue")
        reply["Location"] += "?empty"
        return reply
    return redirect("review", token=claim.token)


def _held_by_others(user: User) -> dict[str, object]:
    """Return how many items held by others this reviewer could get, and when the next is free.

    Each reviewer holds at most one item, so these are few, unlike the reviewer's own reviews and
    the items of the queue.
    """
    live = list(
        Claim.objects.filter(
            released_at=None, submitted_at=None, expires_at__gt=timezone.now()
        ).exclude(user=user)
    )
    versions = ItemVersion.objects.select_related("item").in_bulk(
        [claim.version_id for claim in live]
    )
    own_claims = Claim.objects.filter(user=user, version__in=list(versions))
    ended = set(
        own_claims.exclude(outcome__in=("expired", "given-back")).values_list("version", flat=True)
    )
    free = {
        pk
        for pk, version in versions.items()
        if version.item.state == ReviewState.QUEUED
        and not version.item.gold_defect
        and version.number == version.item.version
    } - ended
    ahead = [claim for claim in live if claim.version_id in free]
    first = min(ahead, key=lambda claim: claim.expires_at, default=None)
    return {"count": len({claim.version_id for claim in ahead}), "first": first}
