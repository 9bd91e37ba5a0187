"""Claims: the lease of an item to one reviewer.

The database (``models.reviews.Claim``), not this code, guarantees that no slot of a version has two
holders: in measurements with eight processes, check-then-insert handed out thousands of items
twice, and ``FOR UPDATE SKIP LOCKED`` alone hundreds. This module only makes collisions rare. The
reservation of the last slots for specialists (``review_slots``) is checked again under the lock of
the item. Whatever can be read or prepared before a transaction is, to keep write locks short.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.utils import timezone

from medrcube.review.assigning.routing import Route, route_of
from medrcube.review.audit_trail.event_chain import SYSTEM, record_events
from medrcube.review.errors import ConflictError
from medrcube.review.models import Claim, User
from medrcube.review.quality import gold_items
from medrcube.review.reviewing.claim_tokens import (
    claim_context,
    item_event,
    loaded_instance,
    stale_claim_error,
)
from medrcube.review.reviewing.policy import Policy, current_policy
from medrcube.review.reviewing.review_slots import has_free_slot
from medrcube.review.reviewing.sql import candidate_queries, claim_queries
from medrcube.review.reviewing.sql.candidate_queries import ClaimCandidate
from medrcube.review.reviewing.sql.cursor import async_commit, from_db_time
from medrcube.review.visibility import disclosure

__all__ = ["active_claim", "claim_next", "expire_claims", "give_back", "renew"]

_TRIES = 50


def claim_next(user: User, now: datetime | None = None) -> Claim | None:
    """Return the claim that this reviewer holds, or claim the next item of the queue.

    Order: items whose lease expired with a draft of theirs; items that wait for a specialist such
    as them, and items assigned to them first (``routing``); then items that others have reviewed,
    by priority and the project's random order. ``None`` if nothing is left; a paused reviewer gets
    no new items. A reviewer who has already seen the key of a version does not answer it again:
    the earlier blind answer is copied to the claim.

    Raises:
        ConflictError: fifty attempts collided with other reviewers; retry.
    """
    now = now or timezone.now()
    rules = current_policy()
    expire_claims(now)
    mine = active_claim(user, now)
    if mine is not None:
        return mine
    for _ in range(_TRIES):
        try:
            with async_commit():
                return _claim(user, rules, now)
        except (IntegrityError, _TakenError) as error:
            # Another process took the slot between our query and our insert.
            reason = error
    raise ConflictError("the queue is very busy; request an item again") from reason


def active_claim(user: User, now: datetime | None = None) -> Claim | None:
    """Return the reviewer's live claim on an item that is still in the queue, or ``None``."""
    row = claim_queries.active_claim_row(user.pk, now or timezone.now())
    if row is None:
        return None
    pk, version, slot, token, claimed_at, expires_at, blinded, specialist = row
    return loaded_instance(
        Claim,
        id=pk,
        version_id=version,
        user_id=user.pk,
        slot=slot,
        token=token if isinstance(token, uuid.UUID) else uuid.UUID(token),
        claimed_at=from_db_time(claimed_at),
        expires_at=from_db_time(expires_at),
        submitted_at=None,
        released_at=None,
        outcome="",
        blinded=bool(blinded),
        specialist=bool(specialist),
    )


def expire_claims(now: datetime) -> int:
    """Release claims whose lease has expired; return their number."""
    if not claim_queries.has_overdue_claim(now):
        return 0
    with transaction.atomic():
        lost = claim_queries.end_overdue_claims(now)
        record_events(
            now,
            *(
                item_event(SYSTEM, "claim.expired", item, number, user=pseudonym)
                for item, number, pseudonym in lost
            ),
        )
    return len(lost)


def renew(
    token: uuid.UUID, user: User, body: Mapping[str, object], now: datetime | None = None
) -> Claim:
    """Save the draft and extend the lease.

    The draft is saved even if the claim is lost, before the error is raised. A draft that arrives
    after the review itself is discarded.

    Raises:
        StaleClaimError: the claim is no longer live.
    """
    now = now or timezone.now()
    context = claim_context(token, user)
    expires = now + timedelta(minutes=current_policy().lease_minutes)
    if context.sent:
        raise stale_claim_error()
    with transaction.atomic():
        claim_queries.save_draft(context.version, user.pk, body, now)
        live = claim_queries.extend_lease(context.claim, now, expires)
    if not live:
        raise stale_claim_error()
    return Claim.objects.get(pk=context.claim)


def give_back(
    token: uuid.UUID, user: User, *, not_my_field: bool, now: datetime | None = None
) -> None:
    """Return an item without a review; "not my field" keeps it from coming back to this reviewer.

    Raises:
        StaleClaimError: the claim is no longer live.
    """
    now = now or timezone.now()
    context = claim_context(token, user)
    outcome = "skipped" if not_my_field else "given-back"
    with transaction.atomic():
        if not claim_queries.release_claim(context.claim, outcome, now):
            raise stale_claim_error()
        record_events(
            now, item_event(user.pseudonym, f"claim.{outcome}", context.item, context.number)
        )


class _TakenError(Exception):
    """The chosen item has changed since it was chosen."""


def _claim(user: User, rules: Policy, now: datetime) -> Claim | None:
    reviewer = claim_queries.reviewer_flags(user.pk)
    if reviewer.paused or not reviewer.active:
        return None
    candidate = _choose(user, rules, route_of(user.pk, reviewer.specialties, rules))
    if candidate is None:
        return None
    if not claim_queries.lock_queued_item(candidate.item, candidate.number):
        raise _TakenError
    used = claim_queries.taken_slots(candidate.version)
    slot = next(slot for slot in range(len(used) + 1) if slot not in used)
    seeing = sum(not claim_slot.blinded for claim_slot in used.values())
    special = [claim_slot.specialist for claim_slot in used.values()]
    if not candidate.gold and (
        not has_free_slot(special, rules, specialist=candidate.specialist)
        or (not candidate.blinded and seeing >= rules.unblinded_reviews)
    ):
        raise _TakenError
    token, expires = uuid.uuid4(), now + timedelta(minutes=rules.lease_minutes)
    pk = claim_queries.insert_claim(candidate, user.pk, slot, token, now=now, expires=expires)
    claim_queries.copy_blind_answer(pk, candidate.version, user.pk)
    disclosure.record_question_shown(user.pk, candidate.item, now)
    body = {"slot": slot, "blinded": candidate.blinded, "specialist": candidate.specialist}
    record_events(
        now, item_event(user.pseudonym, "claim.issued", candidate.item, candidate.number, **body)
    )
    return loaded_instance(
        Claim,
        id=pk,
        version_id=candidate.version,
        user_id=user.pk,
        slot=slot,
        token=token,
        claimed_at=now,
        expires_at=expires,
        submitted_at=None,
        released_at=None,
        outcome="",
        blinded=candidate.blinded,
        specialist=candidate.specialist,
    )


def _choose(user: User, rules: Policy, route: Route) -> ClaimCandidate | None:
    lost = candidate_queries.resumable_items(user.pk, rules, route)
    if lost:
        return lost[0]
    turn = gold_items.is_gold_turn(user, rules)
    # Both are always queried, so that the response time reveals nothing.
    gold = (
        candidate_queries.queued_candidates(user.pk, rules, route, gold=True)
        if rules.gold_rate
        else []
    )
    real = candidate_queries.queued_candidates(user.pk, rules, route, gold=False)
    if turn and gold:
        return min(gold, key=lambda item: _reviewer_lot(user, item))
    if not real:
        return None
    first = (real[0].reviews, real[0].priority)
    equal = [item for item in real if (item.reviews, item.priority) == first]
    # Only the first item of a case: they are ordered so that the least disclosing comes first.
    cases = {item.case_key or item.item: item for item in reversed(equal)}
    equal = list(cases.values())
    return min(
        equal, key=lambda item: (item.returned, not item.specialist, _reviewer_lot(user, item))
    )


def _reviewer_lot(user: User, item: ClaimCandidate) -> str:
    return sha256(f"{user.pk}|{item.item}".encode()).hexdigest()
