"""The two steps of a review, blind answer and decision, each guarded by the claim."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import record_events
from medrcube.review.errors import InvalidAnswerError, StaleClaimError
from medrcube.review.models import BlindAnswer, Item, ItemVersion, Proposal, Review, User
from medrcube.review.quality import gold_items
from medrcube.review.reviewing.claim_tokens import (
    item_event,
    keep_typed,
    live_claim,
    loaded_instance,
    stale_claim_error,
)
from medrcube.review.reviewing.consensus import apply_consensus, is_dangerous
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.questionnaire import Reason
from medrcube.review.reviewing.sql import claim_queries, review_queries
from medrcube.review.reviewing.sql.claim_queries import ClaimContext
from medrcube.review.reviewing.submissions import (
    BlindSubmission,
    ReviewSubmission,
    check_blind_submission,
    check_review_submission,
)
from medrcube.review.visibility import disclosure, privacy_incidents
from medrcube.review.wording.proposals import flaws_of, flaws_to_json

__all__ = ["answer_blind", "submit_review"]


def answer_blind(
    token: uuid.UUID,
    user: User,
    answer: BlindSubmission,
    now: datetime | None = None,
    *,
    typed: Mapping[str, object] | None = None,
    reveals: bool = True,
) -> BlindAnswer:
    """Store step one; the key may leave the server only after this.

    Args:
        token: token of the claim.
        user: the reviewer.
        answer: step one.
        now: time of the answer.
        typed: the submitted form, saved as a draft if the claim is lost.
        reveals: whether the reviewer is shown the key next.

    Raises:
        StaleClaimError: the claim is no longer live, or was already answered.
        InvalidAnswerError: the answer is not in the questionnaire.
    """
    now = now or timezone.now()
    context = live_claim(token, user, now, typed)
    if context.answered:
        raise stale_claim_error()
    check_blind_submission(answer, context.options)
    answers: dict[str, Any] = {
        "option": answer.option,
        "confidence": answer.confidence,
        "needs_image": answer.needs_image,
        "image_adequate": answer.image_adequate,
        "milliseconds": answer.milliseconds,
        "value": answer.value,
    }
    body = {**answers, "blinded": context.blinded}
    event = item_event(user.pseudonym, "blind.answered", context.item, context.number, **body)
    expires = now + timedelta(minutes=current_policy().lease_minutes)
    try:
        with transaction.atomic():
            if not claim_queries.extend_lease(context.claim, now, expires):
                raise stale_claim_error()
            pk = review_queries.insert_blind_answer(context.claim, answer, now)
            if reveals:
                disclosure.record_key_shown(user.pk, context.item, now)
            record_events(now, event)
    except StaleClaimError:
        keep_typed(context, user, typed, now)
        raise
    except IntegrityError as error:  # the same answer was sent twice at once
        raise stale_claim_error() from error
    return loaded_instance(BlindAnswer, id=pk, claim_id=context.claim, answered_at=now, **answers)


def submit_review(
    token: uuid.UUID,
    user: User,
    ruling: ReviewSubmission,
    now: datetime | None = None,
    *,
    typed: Mapping[str, object] | None = None,
) -> Review:
    """Store step two, and decide the item if this was the last review that it needs.

    Args:
        token: token of the claim.
        user: the reviewer.
        ruling: step two.
        now: time of the review.
        typed: the submitted form, saved as a draft if the claim is lost.

    Raises:
        StaleClaimError: the claim is no longer live, or its item has left the queue; no review is
            stored.
        InvalidAnswerError: the decision is incomplete, or step one is missing.
    """
    now = now or timezone.now()
    context = live_claim(token, user, now, typed)
    if not context.answered:
        raise InvalidAnswerError("step 1 is missing: answer the question before you judge it")
    check_review_submission(ruling, context.options)
    checklist, verdicts = dict(ruling.checklist), dict(ruling.verdicts)
    seconds = max(0, int((now - context.claimed_at).total_seconds()))
    proposed = _proposal_columns(context, ruling)
    event = item_event(
        user.pseudonym,
        "review.submitted",
        context.item,
        context.number,
        decision=ruling.decision,
        reasons=[list(reason) for reason in ruling.reasons],
        checklist=checklist,
        verdicts=verdicts,
        comment=ruling.comment,
        seconds=seconds,
        specialist=context.specialist,
        **({} if proposed is None else {"proposal": proposed}),
    )
    item = _item(context)
    fresh = frozenset(code for code, _ in ruling.reasons)
    has_phi = Reason.PHI in fresh and is_dangerous(item, fresh)
    try:
        with transaction.atomic():
            rules = current_policy(fixed=True)
            others = (
                privacy_incidents.lock_linked(Item.objects.get(pk=context.item)) if has_phi else []
            )
            # Lock the item first: concurrent reviews and edits of it wait here for the commit.
            item.reviews = review_queries.increment_reviews(context.item, context.number, user.pk)
            if not item.reviews or not review_queries.close_claim(context.claim, now):
                raise stale_claim_error()
            pk = review_queries.insert_review(context.claim, ruling, seconds, now)
            if proposed is not None:
                Proposal.objects.create(review_id=pk, **proposed)
            review_queries.reserve_for_specialist(context.item, context.version, rules)
            claim_queries.delete_draft(context.version, user.pk)
            if has_phi:
                others = [item, *(row for row in others if row.pk != item.pk)]
                entries = privacy_incidents.quarantine_linked(item, others, user, now)[1]
            else:
                entries = apply_consensus(now, item, context.version, rules, fresh)
            record_events(now, event, *entries)
    except StaleClaimError:
        keep_typed(context, user, typed, now)
        raise
    gold_items.pause_if_inattentive(user, now)
    return loaded_instance(
        Review,
        id=pk,
        claim_id=context.claim,
        decision=ruling.decision,
        checklist=checklist,
        verdicts=verdicts,
        comment=ruling.comment,
        seconds=seconds,
        submitted_at=now,
    )


def _proposal_columns(context: ClaimContext, ruling: ReviewSubmission) -> dict[str, Any] | None:
    """Return the columns of the proposal, with the rules that it violates."""
    if ruling.proposal is None:
        return None
    version = ItemVersion.objects.select_related("item").get(pk=context.version)
    flaws = flaws_to_json(flaws_of(version, ruling.proposal))
    return {**ruling.proposal.to_json(), "flaws": flaws}


def _item(context: ClaimContext) -> Item:
    return loaded_instance(
        Item,
        id=context.item,
        version=context.number,
        state=context.state,
        gold_defect=context.gold_defect,
    )
