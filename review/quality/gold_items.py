"""Gold items: copies with a known defect, handed out unannounced to measure reviewers.

Nothing that a reviewer sees identifies them: the id has the same form, they follow the order of the
queue, and the page shows their wording like that of any other version.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import SYSTEM, NewEvent, record_events
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Claim, Item, ItemVersion, User
from medrcube.review.quality.defect_records import record_of_edit
from medrcube.review.quality.defects import FITTING_CODES, DefectiveCopy, kind_of
from medrcube.review.reviewing.edits import Edit, new_options
from medrcube.review.reviewing.item_versions import content_sha256, version_as_read
from medrcube.review.reviewing.policy import Policy, current_policy, queue_lot
from medrcube.review.reviewing.questionnaire import Decision, Reason
from medrcube.review.reviewing.sql import review_queries
from medrcube.review.reviewing.state_machine import ReviewState
from medrcube.review.reviewing.voiding import void_claims
from medrcube.review.visibility import disclosure

__all__ = [
    "copy_with_defect",
    "decides_rightly",
    "is_gold_turn",
    "latest_gold_claims",
    "make_gold",
    "pause_if_inattentive",
    "pause_reviewer",
    "resume_reviewer",
]


def is_gold_turn(user: User, rules: Policy) -> bool:
    """Decide at random, and unpredictably, whether a reviewer gets a gold item now."""
    if not rules.gold_rate:
        return False
    digest = sha256(f"{rules.seed}|{user.pk}|{review_queries.chain_number()}".encode()).digest()
    return int.from_bytes(digest[:4]) < rules.gold_rate * 2**32


def make_gold(
    item_id: str,
    version: int,
    user: User,
    *,
    defect: str,
    change: Edit,
) -> Item:
    """Copy an item with a known defect.

    Args:
        item_id: id of the item to copy.
        version: number of the version that was displayed.
        user: manager who creates it.
        defect: reason code that reviewers should find.
        change: the defective wording.

    Raises:
        InvalidAnswerError: unknown code, no change, or the item is itself a gold item.
        ConflictError: the item has changed since it was read.
    """
    now = timezone.now()
    if defect not in tuple(Reason):
        raise InvalidAnswerError(f"{defect!r} is not a reason code")
    with transaction.atomic():
        old = version_as_read(item_id, version)
        if old.item.gold_defect:
            raise InvalidAnswerError("this is a gold item already; copy an ordinary one")
        options = new_options(old, change)
        if (change.question, options, change.key) == (old.question, old.options, old.key):
            raise InvalidAnswerError("nothing was changed, so there is no defect to find")
        changed, key, provenance = record_of_edit(old, options, change.key)
        trap = DefectiveCopy(
            defect=defect, options=changed, key=key, provenance=provenance, warnings=old.warnings
        )
        return _store_gold(old, change.question, trap, (user.pseudonym, change.note), now)


def copy_with_defect(version: ItemVersion, trap: DefectiveCopy, actor: str, now: datetime) -> Item:
    """Copy an item with a randomly drawn defect.

    Raises:
        ConflictError: the item has changed since it was read.
    """
    with transaction.atomic():
        old = version_as_read(version.item_id, version.number)
        return _store_gold(old, old.question, trap, (actor, ""), now)


def _store_gold(
    old: ItemVersion,
    question: str,
    trap: DefectiveCopy,
    actor_and_note: tuple[str, str],
    now: datetime,
) -> Item:
    """Store the gold item, within a transaction."""
    actor, note = actor_and_note
    item = _gold_row(old.item, trap.defect)
    digest = content_sha256(question, trap.options, trap.key, old.picture.sha256)
    ItemVersion.objects.create(
        item=item,
        number=1,
        question=question,
        options=trap.options,
        key=trap.key,
        picture=old.picture,
        overlay=old.overlay,
        asks_mark=old.asks_mark,
        provenance=trap.provenance,
        warnings=trap.warnings,
        content_sha256=digest,
        created_at=old.created_at,
    )
    disclosure.refresh_disclosures([item.pk], now)
    body = {
        "defect": trap.defect,
        "copied_from": old.item_id,
        "version": old.number,
        "note": note,
        "content_sha256": digest,
    }
    record_events(now, NewEvent(actor=actor, kind="gold.made", object=f"item:{item.pk}", body=body))
    return item


def decides_rightly(claim: Claim) -> bool:
    """Whether the review of a gold item is right.

    A defect is caught if the reviewer does not accept the item and names the defect, or has
    answered correctly. Refusing a sound item or naming such a defect is a false alarm.
    """
    review, version = claim.review, claim.version
    codes = {reason.code for reason in review.reasons.all()} | set(review.verdicts.values())
    away = claim.blind.option not in (None, version.key)
    return _is_right(version.item.gold_defect, review.decision, codes, away=away)


def _is_right(defect: str, decision: str, codes: AbstractSet[str], *, away: bool) -> bool:
    """Judge a decision by its reason codes; ``away``: whether the blind answer is not the key."""
    kind = kind_of(defect)
    if kind == "sound":
        alarms = frozenset[str]().union(*FITTING_CODES.values())
        return decision != Decision.REJECT and not codes & alarms
    if decision == Decision.ACCEPT:
        return False
    if codes & {defect, *FITTING_CODES.get(kind, ())}:
        return True
    return kind in ("wrong-key", "wrong-box") and away


def pause_if_inattentive(user: User, now: datetime) -> bool:
    """Pause a reviewer who misses too many known defects; return whether they were paused.

    Called after every review, with a single statement whatever was reviewed, so that neither the
    work nor the time of a review reveals a gold item.

    Unreleased reviews since the first gold item considered are voided, including those of the gold
    items themselves, so that a reviewer who is resumed starts afresh.
    """
    rules = current_policy()
    latest = _latest_outcomes(user, rules.gold_window)
    caught = sum(right for _, right in latest)
    if len(latest) < rules.gold_window or caught / len(latest) >= rules.gold_pass:
        return False
    since = min(at for at, _ in latest)
    with transaction.atomic():
        if not User.objects.filter(pk=user.pk, paused=False).update(paused=True):
            return False
        claims = Claim.objects.filter(user=user, released_at=None, submitted_at__gte=since)
        ordered = claims.select_related("version__item", "user").order_by("version__item_id")
        entries, voided = void_claims(ordered, SYSTEM, now)
        _end_live(user, now)
        body = {"found": caught, "of": len(latest), "voided": voided}
        record_events(now, *entries, _reviewer_event(SYSTEM, "reviewer.paused", user, body))
    return True


def latest_gold_claims(user: User, count: int) -> list[Claim]:
    """Return the latest valid reviews of gold items by a reviewer, newest first."""
    rows = _latest_gold_reviews(user, count).select_related("version__item", "blind", "review")
    return list(rows.prefetch_related("review__reasons"))


def _latest_gold_reviews(user: User, count: int) -> QuerySet[Claim]:
    reviews = Claim.objects.filter(
        user=user,
        released_at=None,
        submitted_at__isnull=False,
        version__item__gold_defect__gt="",
    )
    return reviews.order_by("-submitted_at", "-pk")[:count]


def _latest_outcomes(user: User, count: int) -> list[tuple[datetime, bool]]:
    """Return the time and correctness of the latest gold reviews, in one statement."""
    rows = Claim.objects.filter(pk__in=_latest_gold_reviews(user, count).values("pk")).values_list(
        "pk",
        "submitted_at",
        "version__item__gold_defect",
        "version__key",
        "blind__option",
        "review__decision",
        "review__verdicts",
        "review__reasons__code",
    )
    columns_of: dict[int, tuple[Any, ...]] = {}
    codes: dict[int, set[str]] = {}
    for pk, *columns, verdicts, code in rows:
        columns_of[pk] = tuple(columns)
        codes.setdefault(pk, set(verdicts.values())).update([code] if code else [])
    return [
        (at, _is_right(defect, decision, codes[pk], away=option not in (None, key)))
        for pk, (at, defect, key, option, decision) in columns_of.items()
    ]


def pause_reviewer(user_id: int, manager: User, note: str, now: datetime | None = None) -> None:
    """Pause a reviewer: they get no new items, and their reviews remain valid.

    Raises:
        InvalidAnswerError: no note.
        ConflictError: the reviewer is paused already.
    """
    _set_paused(user_id, manager, note, now or timezone.now(), paused=True)


def resume_reviewer(user_id: int, manager: User, note: str, now: datetime | None = None) -> None:
    """Resume a paused reviewer.

    Raises:
        InvalidAnswerError: no note.
        ConflictError: the reviewer is not paused.
    """
    _set_paused(user_id, manager, note, now or timezone.now(), paused=False)


def _set_paused(user_id: int, manager: User, note: str, now: datetime, *, paused: bool) -> None:
    if not note.strip():
        raise InvalidAnswerError("state a reason; it is recorded in the trail")
    with transaction.atomic():
        user = User.objects.filter(pk=user_id).first()
        if user is None or not User.objects.filter(pk=user_id, paused=not paused).update(
            paused=paused
        ):
            raise ConflictError(f"this reviewer is {'paused' if paused else 'not paused'} already")
        if paused:
            _end_live(user, now)
        kind = "reviewer.paused" if paused else "reviewer.resumed"
        record_events(now, _reviewer_event(manager.pseudonym, kind, user, {"note": note}))


def _end_live(user: User, now: datetime) -> None:
    live = Claim.objects.filter(user=user, released_at=None, submitted_at=None)
    live.update(released_at=now, outcome="paused")


def _gold_row(item: Item, defect: str) -> Item:
    """Return the row of a gold item, with an id of the same form as real ones."""
    name = secrets.token_hex(len(item.pk))[: len(item.pk)]
    return Item.objects.create(
        id=name,
        source=item.source,
        task=item.task,
        anatomy=item.anatomy,
        modality=item.modality,
        case_key=item.case_key,
        stratum=item.stratum,
        state=ReviewState.QUEUED,
        priority=item.priority,
        lot=queue_lot(current_policy().seed, name),
        gold_defect=defect,
        copied_from=item,
    )


def _reviewer_event(actor: str, kind: str, user: User, body: Mapping[str, object]) -> NewEvent:
    return NewEvent(actor=actor, kind=kind, object=f"reviewer:{user.pseudonym}", body=body)
