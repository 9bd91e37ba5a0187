"""Voiding of reviews: undone by their reviewer, or voided by a manager or a rule.

A review is never changed or deleted. Its claim is released, which frees its slot, and the item gets
the state that follows from the remaining reviews, unless a person has decided it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Adjudication, Claim, Item, ItemVersion, User
from medrcube.review.reviewing.consensus import (
    apply_consensus,
    apply_transition,
    consensus_transition,
    lacks_specialist,
)
from medrcube.review.reviewing.item_versions import version_as_read
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.questionnaire import DANGERS
from medrcube.review.reviewing.sql import claim_queries, review_queries
from medrcube.review.reviewing.state_machine import ReviewState, Transition

__all__ = ["reopen", "take_back", "undo_until", "void_claims", "void_review"]

_SETTLED = frozenset(
    {ReviewState.QUEUED, ReviewState.ADJUDICATION, ReviewState.ACCEPTED, ReviewState.REJECTED}
)


def undo_until(claim: Claim, now: datetime) -> datetime | None:
    """Return the time until which a review may be undone; ``None`` if it has passed.

    Actions of others only become apparent on an attempt, because no page reveals them to a
    reviewer. A review that names a danger cannot be undone, because it goes to a manager
    immediately. The same applies to gold items, although they stay in the queue, so that an attempt
    does not reveal them.
    """
    if claim.submitted_at is None or claim.released_at is not None or _names_danger(claim):
        return None
    end = claim.submitted_at + timedelta(minutes=current_policy().undo_minutes)
    return end if now < end else None


def take_back(
    token: uuid.UUID, user: User, typed: Mapping[str, object], now: datetime | None = None
) -> None:
    """Undo one's own review; the item is presented again with the draft and the first answer.

    Args:
        token: token of the claim that ended in the review.
        user: its reviewer.
        typed: form values of the review, saved as a draft.
        now: time of the undo.

    Raises:
        ConflictError: the review names a danger, the period has ended, another reviewer has begun,
            or the item has been decided.
    """
    now = now or timezone.now()
    with transaction.atomic():
        claim = _locked(Claim.objects.filter(token=token, user=user))
        if claim is not None and _names_danger(claim):
            raise ConflictError(
                "this review cannot be retracted: it reports a risk and went to a manager when "
                "it was submitted; if that was a mistake, tell the manager, who can void it"
            )
        if claim is None or undo_until(claim, now) is None or _is_relied_on(claim):
            raise ConflictError(
                "this review can no longer be retracted: the time is over, another reviewer has "
                "started, or the item has been decided; a manager can void it"
            )
        claim_queries.save_draft(claim.version_id, user.pk, typed, now)
        entries, _ = void_claims([claim], user.pseudonym, now, end="undone")
        record_events(now, *entries)


def void_review(claim_id: int, manager: User, note: str, now: datetime | None = None) -> None:
    """Void a review, so that another reviewer will see the item.

    Raises:
        InvalidAnswerError: no note.
        ConflictError: there is no such valid review of a current version that is not released.
    """
    now = now or timezone.now()
    _require_note(note)
    with transaction.atomic():
        valid = Claim.objects.filter(pk=claim_id, released_at=None, review__isnull=False)
        claim = _locked(valid)
        entries, voided = void_claims([claim] if claim else [], manager.pseudonym, now, note=note)
        if not voided:
            raise ConflictError(
                "this review no longer counts, or its item has since been released or reworded"
            )
        record_events(now, *entries)


def reopen(
    item_id: str, version: int, manager: User, note: str, now: datetime | None = None
) -> None:
    """Return a decided item to the queue and void its reviews, so that others review it.

    Raises:
        InvalidAnswerError: no note.
        IllegalTransitionError: the item is not decided, or it is released.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    _require_note(note)
    with transaction.atomic():
        item_version = version_as_read(item_id, version)
        entries = [
            apply_transition(
                now, item_version.item, Transition.REOPENED, manager.pseudonym, note=note
            )
        ]
        valid = Claim.objects.filter(version=item_version, released_at=None, review__isnull=False)
        claims = list(valid.select_related("version__item", "user").order_by("pk"))
        entries += void_claims(claims, manager.pseudonym, now, note=note)[0]
        record_events(now, *entries)


def void_claims(
    claims: Iterable[Claim], actor: str, now: datetime, *, end: str = "voided", **body: object
) -> tuple[list[NewEvent], int]:
    """Void reviews within a transaction; return the events and the number of voided reviews.

    Args:
        claims: claims with their items, ordered by item id.
        actor: actor recorded in the trail.
        now: time of the change.
        end: outcome of the claims; a reviewer with a ``voided`` one does not get the version again.
        body: additional fields of each event.
    """
    entries: list[NewEvent] = []
    voided = 0
    rules = current_policy()
    for claim in claims:
        version, item = claim.version, claim.version.item
        row = review_queries.decrement_reviews(item.pk, version.number)
        if row is None:  # released, or there is a newer version: nothing depends on it
            continue
        item.state, item.reviews = row
        rests = item.state != ReviewState.QUEUED and _rests_on_reviews(item, version)
        Claim.objects.filter(pk=claim.pk).update(released_at=now, outcome=end)
        review_queries.reserve_for_specialist(item.pk, version.pk, rules)
        # The person who accepted the item saw a specialist's review.
        short = item.state == ReviewState.ACCEPTED and lacks_specialist(version.pk, rules)
        voided += 1
        content = {"version": version.number, "reviewer": claim.user.pseudonym, **body}
        entries.append(
            NewEvent(actor=actor, kind="review.voided", object=f"item:{item.pk}", body=content)
        )
        if rests or short:
            entries.append(apply_transition(now, item, Transition.REVIEW_VOIDED, actor))
            entries += apply_consensus(now, item, version.pk, rules)
    return entries, voided


def _rests_on_reviews(item: Item, version: ItemVersion) -> bool:
    """Whether the state follows from the reviews alone; decisions of a person are kept."""
    if item.state == ReviewState.ADJUDICATION:
        return True
    if Adjudication.objects.filter(version=version).exists():
        return False
    if item.state == ReviewState.REJECTED:
        reviews = [vote.review for vote in review_queries.valid_votes(version.pk)]
        looked_at = review_queries.reason_codes(reviews) & DANGERS  # a manager has rejected it
        return consensus_transition(version.pk) is Transition.REVIEWERS_REJECT and not looked_at
    return item.state == ReviewState.ACCEPTED


def _names_danger(claim: Claim) -> bool:
    return any(reason.code in DANGERS for reason in claim.review.reasons.all())


def _is_relied_on(claim: Claim) -> bool:
    """Whether the item has been decided since, or another reviewer has claimed the version."""
    version, item = claim.version, claim.version.item
    later = Claim.objects.filter(version=version, claimed_at__gt=claim.submitted_at)
    return (
        item.version != version.number
        or item.state not in _SETTLED
        or (item.state != ReviewState.QUEUED and not _rests_on_reviews(item, version))
        or later.exclude(user=claim.user_id).exists()
    )


def _locked(claims: QuerySet[Claim]) -> Claim | None:
    claim = claims.select_related("version__item", "user").first()
    if claim is not None:
        # Lock the item first, in the common lock order; then read its current state.
        item = Item.objects.select_for_update(no_key=True).get(pk=claim.version.item_id)
        claim.refresh_from_db(fields=["released_at", "submitted_at"])
        claim.version.item = item
    return claim


def _require_note(note: str) -> None:
    if not note.strip():
        raise InvalidAnswerError("state a reason; it is recorded in the trail")
