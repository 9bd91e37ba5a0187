"""Import of a complete review made in another tool, under the rules of the queue."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from medrcube.review.assigning.routing import assignment_rules, may_review
from medrcube.review.assigning.specialties import coverage_of
from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.errors import ConflictError
from medrcube.review.models import Claim, Item, ItemVersion, Review, User
from medrcube.review.reviewing.claims import expire_claims
from medrcube.review.reviewing.item_versions import wrote_or_proposed
from medrcube.review.reviewing.policy import Policy, current_policy
from medrcube.review.reviewing.review_slots import has_free_slot, is_reserved
from medrcube.review.reviewing.sql import claim_queries
from medrcube.review.reviewing.state_machine import ReviewState
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import (
    BlindSubmission,
    ReviewSubmission,
    check_blind_submission,
    check_review_submission,
)
from medrcube.review.visibility import disclosure

__all__ = ["import_review"]


def import_review(
    version: ItemVersion,
    user: User,
    answer: BlindSubmission,
    ruling: ReviewSubmission,
    *,
    seconds: float,
) -> Review:
    """Claim, answer and judge one version on behalf of a reviewer.

    Atomic: a rejected review leaves no claim behind.

    Args:
        version: version that the reviewer was shown.
        user: the reviewer.
        answer: step one.
        ruling: step two.
        seconds: duration of the review.

    Raises:
        ConflictError: the version is no longer in the queue or has all its reviews, or the reviewer
            has reviewed it, wrote it, or holds another item.
        InvalidAnswerError: an answer or decision that the questionnaire does not allow.
    """
    check_blind_submission(answer, len(version.options))
    check_review_submission(ruling, len(version.options))
    now = timezone.now()
    expire_claims(now)
    with transaction.atomic():
        claim = _claim(version, user, now, seconds)
        answer_blind(claim.token, user, answer, now, reveals=False)
        return submit_review(claim.token, user, ruling, now)


def _claim(version: ItemVersion, user: User, now: datetime, seconds: float) -> Claim:
    reviewer = claim_queries.reviewer_flags(user.pk)
    if reviewer.paused or not reviewer.active:
        raise ConflictError(f"{user.pseudonym} is paused or has no open account")
    if wrote_or_proposed(version, user):
        raise ConflictError(f"{user.pseudonym} wrote version {version.number} of {version.item_id}")
    mine = Claim.objects.filter(version=version, user=user)
    if mine.filter(submitted_at__isnull=False).exists():
        raise ConflictError(f"{user.pseudonym} has reviewed this version of {version.item_id}")
    if mine.filter(blind__isnull=False).exists():
        # The key was shown on the queue's own page, so a different first answer is not blind.
        raise ConflictError(
            f"{user.pseudonym} has begun to review {version.item_id} here, and seen its key"
        )
    if Claim.objects.filter(user=user, version__item__copied_from=version.item_id).exists():
        raise ConflictError(f"{user.pseudonym} has seen another wording of {version.item_id}")
    # SQLite has no row locks and needs none: there is no other writer since the transaction began.
    waiting = Item.objects.select_for_update(no_key=True).filter(
        pk=version.item_id, state=ReviewState.QUEUED, version=version.number
    )
    if waiting.first() is None:
        raise ConflictError(
            f"item {version.item_id} no longer waits for reviews of version {version.number}"
        )
    used, rules = claim_queries.taken_slots(version.pk), current_policy()
    specialist = _specialist(version.item, user, reviewer.specialties)
    slot = next(slot for slot in range(len(used) + 1) if slot not in used)
    specialist_flags = [place.specialist for place in used.values()]
    _require_place(version.item, user, specialist_flags, rules, specialist=specialist)
    blinded = claim_queries.is_blind(version.pk, version.item_id, user.pk)
    if not blinded and sum(not place.blinded for place in used.values()) >= rules.unblinded_reviews:
        raise ConflictError(
            f"{user.pseudonym} has been shown the answer to {version.item_id}; another reviewer "
            "must review it"
        )
    try:
        with transaction.atomic():
            claim = Claim.objects.create(
                version=version,
                user=user,
                slot=slot,
                claimed_at=now - timedelta(seconds=seconds),
                expires_at=now + timedelta(minutes=rules.lease_minutes),
                blinded=blinded,
                specialist=specialist,
            )
    except IntegrityError as error:
        raise ConflictError(
            f"{user.pseudonym} holds another item in the queue; it must be submitted or returned "
            "first"
        ) from error
    disclosure.record_question_shown(user.pk, version.item_id, now)
    body = {
        "version": version.number,
        "slot": slot,
        "by": "import",
        "blinded": blinded,
        "specialist": specialist,
    }
    entry = NewEvent(
        actor=user.pseudonym, kind="claim.issued", object=f"item:{version.item_id}", body=body
    )
    record_events(now, entry)
    return claim


def _specialist(item: Item, user: User, specialties: Collection[str]) -> bool:
    """Whether a specialty of the reviewer covers the item; checks that assignments allow it."""
    kind = (item.source, item.task, item.anatomy, item.modality)
    if not may_review(kind, assignment_rules(user.pk, specialties)):
        raise ConflictError(f"item {item.pk} is assigned to other reviewers than {user.pseudonym}")
    return any(field.covers(item.anatomy, item.modality) for field in coverage_of(specialties))


def _require_place(
    item: Item, user: User, specialist_flags: Collection[bool], rules: Policy, *, specialist: bool
) -> None:
    if has_free_slot(specialist_flags, rules, specialist=specialist):
        return
    if is_reserved(specialist_flags, rules):
        raise ConflictError(
            f"the next review of {item.pk} has to come from a specialist in {item.anatomy} or "
            f"{item.modality}; {user.pseudonym} is not one"
        )
    raise ConflictError(f"item {item.pk} has its {rules.reviews} reviewers already")
