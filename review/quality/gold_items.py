"""Gold items: copies with a known defect, which measure the readers who get them unannounced.

Nothing that a reader can see tells them apart: the id has the same form, the order is the queue's,
and the page shows the wording of a version like any other.
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

from medrcube.review.audit_trail.event_chain import SYSTEM, Entry, record
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Claim, Item, ItemVersion, User
from medrcube.review.quality.defect_records import made_by_hand
from medrcube.review.quality.defects import FITTING, Trap, kind_of
from medrcube.review.reviewing.decisions import Edit, content_sha256, current, new_options
from medrcube.review.reviewing.policy import Policy, current_policy, lot
from medrcube.review.reviewing.questionnaire import Decision, Reason
from medrcube.review.reviewing.sql import review_queries
from medrcube.review.reviewing.state_machine import State
from medrcube.review.reviewing.voiding import void
from medrcube.review.visibility import disclosure


def is_turn(user: User, rules: Policy) -> bool:
    """Whether a reader gets a gold item now; lot decides, from what nobody knows beforehand."""
    if not rules.gold_rate:
        return False
    drawn = sha256(f"{rules.seed}|{user.pk}|{review_queries.chain_number()}".encode()).digest()
    return int.from_bytes(drawn[:4]) < rules.gold_rate * 2**32


def make_gold(
    item_id: str,
    version: int,
    user: User,
    *,
    defect: str,
    change: Edit,
    now: datetime | None = None,
) -> Item:
    """Copy an item with a known defect.

    Args:
        item_id: the item to copy.
        version: the version that was read.
        user: the manager who makes it.
        defect: the reason code that readers should find.
        change: the wording with the defect.
        now: when.

    Raises:
        InvalidAnswerError: no such code, nothing changed, or the item is a gold item itself.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    if defect not in tuple(Reason):
        raise InvalidAnswerError(f"{defect!r} is no reason code")
    with transaction.atomic():
        old = current(item_id, version)
        if old.item.gold_defect:
            raise InvalidAnswerError("this is a gold item already; copy an ordinary one")
        options = new_options(old, change)
        if (change.question, options, change.key) == (old.question, old.options, old.key):
            raise InvalidAnswerError("nothing was changed, so there is no defect to find")
        told, key, provenance = made_by_hand(old, options, change.key)
        trap = Trap(
            defect=defect, options=told, key=key, provenance=provenance, warnings=old.warnings
        )
        return _make(old, change.question, trap, (user.pseudonym, change.note), now)


def make_twin(version: ItemVersion, trap: Trap, actor: str, now: datetime) -> Item:
    """Copy an item with a defect that was drawn.

    Raises:
        ConflictError: the item has changed since it was read.
    """
    with transaction.atomic():
        old = current(version.item_id, version.number)
        return _make(old, old.question, trap, (actor, ""), now)


def _make(
    old: ItemVersion, question: str, trap: Trap, told: tuple[str, str], now: datetime
) -> Item:
    """The gold item; in a transaction. ``told``: actor and note."""
    actor, note = told
    item = _copy(old.item, trap.defect)
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
    disclosure.refresh([item.pk], now)
    body = {
        "defect": trap.defect,
        "copied_from": old.item_id,
        "version": old.number,
        "note": note,
        "content_sha256": digest,
    }
    record(now, Entry(actor=actor, kind="gold.made", object=f"item:{item.pk}", body=body))
    return item


def found_defect(claim: Claim) -> bool:
    """Whether the review of a gold item decides rightly.

    A defect is caught by who does not accept and names it, or who has answered what is right. An
    item without one is refused wrongly by who rejects it or names such a defect.
    """
    review, version = claim.review, claim.version
    named = {reason.code for reason in review.reasons.all()} | set(review.verdicts.values())
    away = claim.blind.option not in (None, version.key)
    return _is_right(version.item.gold_defect, review.decision, named, away=away)


def _is_right(defect: str, decision: str, named: AbstractSet[str], *, away: bool) -> bool:
    """``named``: codes of the review; ``away``: whether the blind answer is not the key."""
    kind = kind_of(defect)
    if kind == "sound":
        alarms = frozenset[str]().union(*FITTING.values())
        return decision != Decision.REJECT and not named & alarms
    if decision == Decision.ACCEPT:
        return False
    if named & {defect, *FITTING.get(kind, ())}:
        return True
    return kind in ("wrong-key", "wrong-box") and away


def judge(user: User, now: datetime) -> bool:
    """Pause a reader who misses too many known defects; whether that happened.

    Asked after every review, and with one statement whatever was reviewed, so that neither the work
    nor the time of a review tells a gold item.

    The reviews that they made since the first of the gold items that were looked at count no
    more, as long as they were not released; with them the gold items themselves, so that a
    reader who is let in again starts afresh.
    """
    rules = current_policy()
    latest = _outcomes(user, rules.gold_window)
    found = sum(right for _, right in latest)
    if len(latest) < rules.gold_window or found / len(latest) >= rules.gold_pass:
        return False
    since = min(at for at, _ in latest)
    with transaction.atomic():
        if not User.objects.filter(pk=user.pk, paused=False).update(paused=True):
            return False
        claims = Claim.objects.filter(user=user, released_at=None, submitted_at__gte=since)
        ordered = claims.select_related("version__item", "user").order_by("version__item_id")
        entries, voided = void(ordered, SYSTEM, now)
        _end_live(user, now)
        body = {"found": found, "of": len(latest), "voided": voided}
        record(now, *entries, _about(SYSTEM, "reader.paused", user, body))
    return True


def last_gold(user: User, count: int) -> list[Claim]:
    """The latest valid reviews of gold items by a reader, the newest first."""
    rows = _reviews(user, count).select_related("version__item", "blind", "review")
    return list(rows.prefetch_related("review__reasons"))


def _reviews(user: User, count: int) -> QuerySet[Claim]:
    done = Claim.objects.filter(
        user=user,
        released_at=None,
        submitted_at__isnull=False,
        version__item__gold_defect__gt="",
    )
    return done.order_by("-submitted_at", "-pk")[:count]


def _outcomes(user: User, count: int) -> list[tuple[datetime, bool]]:
    """When each of the latest was sent, and whether it decides rightly; one statement."""
    rows = Claim.objects.filter(pk__in=_reviews(user, count).values("pk")).values_list(
        "pk",
        "submitted_at",
        "version__item__gold_defect",
        "version__key",
        "blind__option",
        "review__decision",
        "review__verdicts",
        "review__reasons__code",
    )
    told: dict[int, tuple[Any, ...]] = {}
    named: dict[int, set[str]] = {}
    for pk, *columns, verdicts, code in rows:
        told[pk] = tuple(columns)
        named.setdefault(pk, set(verdicts.values())).update([code] if code else [])
    return [
        (at, _is_right(defect, decision, named[pk], away=option not in (None, key)))
        for pk, (at, defect, key, option, decision) in told.items()
    ]


def pause(user_id: int, manager: User, note: str, now: datetime | None = None) -> None:
    """Hand nothing new to a reader; their reviews stay valid.

    Raises:
        InvalidAnswerError: no note.
        ConflictError: the reader is paused already.
    """
    _switch(user_id, manager, note, now or timezone.now(), paused=True)


def resume(user_id: int, manager: User, note: str, now: datetime | None = None) -> None:
    """Let a paused reader in again.

    Raises:
        InvalidAnswerError: no note.
        ConflictError: the reader is not paused.
    """
    _switch(user_id, manager, note, now or timezone.now(), paused=False)


def _switch(user_id: int, manager: User, note: str, now: datetime, *, paused: bool) -> None:
    if not note.strip():
        raise InvalidAnswerError("say why: whoever looks at the trail later wants to know")
    with transaction.atomic():
        user = User.objects.filter(pk=user_id).first()
        if user is None or not User.objects.filter(pk=user_id, paused=not paused).update(
            paused=paused
        ):
            raise ConflictError(f"this reader is {'paused' if paused else 'not paused'} already")
        if paused:
            _end_live(user, now)
        kind = "reader.paused" if paused else "reader.resumed"
        record(now, _about(manager.pseudonym, kind, user, {"note": note}))


def _end_live(user: User, now: datetime) -> None:
    live = Claim.objects.filter(user=user, released_at=None, submitted_at=None)
    live.update(released_at=now, outcome="paused")


def _copy(item: Item, defect: str) -> Item:
    """The row of a gold item, with an id of the same form."""
    name = secrets.token_hex(len(item.pk))[: len(item.pk)]
    return Item.objects.create(
        id=name,
        source=item.source,
        task=item.task,
        anatomy=item.anatomy,
        modality=item.modality,
        case_key=item.case_key,
        stratum=item.stratum,
        state=State.QUEUED,
        priority=item.priority,
        lot=lot(current_policy().seed, name),
        gold_defect=defect,
        copied_from=item,
    )


def _about(actor: str, kind: str, user: User, body: Mapping[str, object]) -> Entry:
    return Entry(actor=actor, kind=kind, object=f"reader:{user.pseudonym}", body=body)
