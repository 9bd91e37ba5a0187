"""A whole review that was made elsewhere, taken in by the rules of the queue."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from medrcube.review import claim_sql, disclosure
from medrcube.review.answers import Answer, Ruling, check_answer, check_ruling
from medrcube.review.audit import Entry, record
from medrcube.review.decisions import is_of
from medrcube.review.errors import ConflictError
from medrcube.review.models import Claim, Item, ItemVersion, Review, User
from medrcube.review.policy import current_policy
from medrcube.review.queue import answer_blind, free_overdue, submit
from medrcube.review.states import State


def review_once(
    version: ItemVersion, user: User, answer: Answer, ruling: Ruling, *, seconds: float
) -> Review:
    """Claim, answer and judge one version on behalf of a reader.

    All of it or nothing: a review that is refused leaves no claim behind.

    Args:
        version: what the reader was shown.
        user: the reader.
        answer: step one.
        ruling: step two.
        seconds: how long they took.

    Raises:
        ConflictError: the version is not in the queue any more, has all its reviews, or the
            reader has reviewed it, wrote it, or holds another item.
        InvalidAnswerError: an answer or decision that the questionnaire does not allow.
    """
    check_answer(answer, len(version.options))
    check_ruling(ruling, len(version.options))
    now = timezone.now()
    free_overdue(now)
    with transaction.atomic():
        claim = _claim(version, user, now, seconds)
        answer_blind(claim.token, user, answer, now, reveals=False)
        return submit(claim.token, user, ruling, now)


def _claim(version: ItemVersion, user: User, now: datetime, seconds: float) -> Claim:
    reader = claim_sql.reader(user.pk)
    if reader.paused or not reader.active:
        raise ConflictError(f"{user.pseudonym} is paused or has no open account")
    if is_of(version, user):
        raise ConflictError(f"{user.pseudonym} wrote version {version.number} of {version.item_id}")
    mine = Claim.objects.filter(version=version, user=user)
    if mine.filter(submitted_at__isnull=False).exists():
        raise ConflictError(f"{user.pseudonym} has reviewed this version of {version.item_id}")
    if mine.filter(blind__isnull=False).exists():
        # The key was shown on the queue's own page, so another first answer is not blind.
        raise ConflictError(
            f"{user.pseudonym} has begun to review {version.item_id} here, and seen its key"
        )
    if Claim.objects.filter(user=user, version__item__copied_from=version.item_id).exists():
        raise ConflictError(f"{user.pseudonym} has seen another wording of {version.item_id}")
    # SQLite knows no row locks, and needs none: nobody else writes since the transaction began.
    waiting = Item.objects.select_for_update(no_key=True).filter(
        pk=version.item_id, state=State.QUEUED, version=version.number
    )
    if waiting.first() is None:
        raise ConflictError(
            f"item {version.item_id} does not wait for reviews of version {version.number} any more"
        )
    used, rules = claim_sql.slots(version.pk), current_policy()
    slot = next(slot for slot in range(len(used) + 1) if slot not in used)
    if slot >= rules.reviews:
        raise ConflictError(f"item {version.item_id} has its {rules.reviews} readers already")
    blinded = claim_sql.is_blind(version.pk, version.item_id, user.pk)
    if not blinded and sum(not blind for blind in used.values()) >= rules.unblinded_reviews:
        raise ConflictError(
            f"{user.pseudonym} has been shown what answers {version.item_id}, so another reader "
            "has to see it"
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
            )
    except IntegrityError as error:
        raise ConflictError(
            f"{user.pseudonym} holds another item in the queue; it has to be sent or given back"
        ) from error
    disclosure.begun(user.pk, version.item_id, now)
    body = {"version": version.number, "slot": slot, "by": "import", "blinded": blinded}
    entry = Entry(
        actor=user.pseudonym, kind="claim.issued", object=f"item:{version.item_id}", body=body
    )
    record(now, entry)
    return claim
