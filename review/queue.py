"""Who reviews what: claims with leases, and the fenced submit of both steps.

That a version never has two holders of a slot is kept by the database (``models.work.Claim``),
not by this code: measured, check-then-insert handed out thousands of items twice under eight
processes, and ``FOR UPDATE SKIP LOCKED`` alone hundreds. What is here only makes collisions rare.
Whatever can be read or prepared before a transaction is, so that writers wait for each other as
short as can be.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone

from medrcube.review import claim_sql, disclosure, gold, incidents, review_sql
from medrcube.review.answers import Answer, Ruling, check_answer, check_ruling
from medrcube.review.audit import SYSTEM, Entry, record
from medrcube.review.claim_sql import Candidate, Standing
from medrcube.review.errors import ConflictError, InvalidAnswerError, StaleClaimError
from medrcube.review.models import (
    BlindAnswer,
    Claim,
    Item,
    ItemVersion,
    Proposal,
    Review,
    User,
)
from medrcube.review.policy import Policy, current_policy
from medrcube.review.proposals import flaws_of, flaws_to_json
from medrcube.review.questionnaire import Reason
from medrcube.review.settle import danger, settle
from medrcube.review.sql import unhurried, when
from medrcube.review.states import State

__all__ = [
    "Answer",
    "Ruling",
    "answer_blind",
    "claim_next",
    "free_overdue",
    "give_back",
    "held",
    "renew",
    "submit",
]

_TRIES = 50


def claim_next(user: User, now: datetime | None = None) -> Claim | None:
    """The item that this reader should look at: the one they hold, or the next of the queue.

    First comes what they lost by time with something typed, then items that others have reviewed,
    then by priority and by the project's lot. ``None`` when nothing is left for them; a paused
    reader gets nothing new. Who has seen the key of a version before does not answer it again:
    the first answer comes with the claim.

    Raises:
        ConflictError: others were faster fifty times; ask again.
    """
    now = now or timezone.now()
    rules = current_policy()
    free_overdue(now)
    mine = held(user, now)
    if mine is not None:
        return mine
    for _ in range(_TRIES):
        try:
            with unhurried():
                return _claim(user, rules, now)
        except (IntegrityError, _TakenError) as error:
            # Another process took the slot between our look and our insert.
            reason = error
    raise ConflictError("the queue is very busy; ask for an item again") from reason


def held(user: User, now: datetime | None = None) -> Claim | None:
    """The live claim of a reader on an item that is still in the queue, if there is one."""
    row = claim_sql.in_hand(user.pk, now or timezone.now())
    if row is None:
        return None
    pk, version, slot, token, claimed_at, expires_at, blinded = row
    return _stored(
        Claim,
        id=pk,
        version_id=version,
        user_id=user.pk,
        slot=slot,
        token=token if isinstance(token, uuid.UUID) else uuid.UUID(token),
        claimed_at=when(claimed_at),
        expires_at=when(expires_at),
        submitted_at=None,
        released_at=None,
        outcome="",
        blinded=bool(blinded),
    )


def free_overdue(now: datetime) -> int:
    """Free the slots of claims whose lease is over; how many there were."""
    if not claim_sql.overdue(now):
        return 0
    with transaction.atomic():
        lost = claim_sql.free_overdue(now)
        record(
            now,
            *(
                _entry(SYSTEM, "claim.expired", item, number, user=pseudonym)
                for item, number, pseudonym in lost
            ),
        )
    return len(lost)


def renew(
    token: uuid.UUID, user: User, body: Mapping[str, object], now: datetime | None = None
) -> Claim:
    """Keep what was typed and hold the item for another lease.

    The text is kept even when the claim is lost; only then the error is raised. What arrives
    after the review itself is not kept: the review has it.

    Raises:
        StaleClaimError: the claim is not live any more.
    """
    now = now or timezone.now()
    found = _standing(token, user)
    expires = now + timedelta(minutes=current_policy().lease_minutes)
    if found.sent:
        raise _stale()
    with transaction.atomic():
        claim_sql.keep_draft(found.version, user.pk, body, now)
        live = claim_sql.extend(found.claim, now, expires)
    if not live:
        raise _stale()
    return Claim.objects.get(pk=found.claim)


def give_back(
    token: uuid.UUID, user: User, *, not_my_field: bool, now: datetime | None = None
) -> None:
    """Return an item without a review; "not my field" keeps it from coming back to this reader.

    Raises:
        StaleClaimError: the claim is not live any more.
    """
    now = now or timezone.now()
    found = _standing(token, user)
    outcome = "skipped" if not_my_field else "given-back"
    with transaction.atomic():
        if not claim_sql.release(found.claim, outcome, now):
            raise _stale()
        record(now, _entry(user.pseudonym, f"claim.{outcome}", found.item, found.number))


def answer_blind(
    token: uuid.UUID,
    user: User,
    answer: Answer,
    now: datetime | None = None,
    *,
    typed: Mapping[str, object] | None = None,
    reveals: bool = True,
) -> BlindAnswer:
    """Store step one; only after this may the key leave the server.

    Args:
        token: of the claim.
        user: who answers.
        answer: step one.
        now: when.
        typed: the form as it was sent, kept as a draft should the claim be lost.
        reveals: whether the reader is shown the key next.

    Raises:
        StaleClaimError: the claim is not live any more, or was answered already.
        InvalidAnswerError: an answer that the questionnaire does not know.
    """
    now = now or timezone.now()
    found = _live(token, user, now, typed)
    if found.answered:
        raise _stale()
    check_answer(answer, found.options)
    said: dict[str, Any] = {
        "option": answer.option,
        "confidence": answer.confidence,
        "needs_image": answer.needs_image,
        "image_adequate": answer.image_adequate,
        "milliseconds": answer.milliseconds,
    }
    told = {**said, "blinded": found.blinded}
    event = _entry(user.pseudonym, "blind.answered", found.item, found.number, **told)
    expires = now + timedelta(minutes=current_policy().lease_minutes)
    try:
        with transaction.atomic():
            if not claim_sql.extend(found.claim, now, expires):
                raise _stale()
            pk = review_sql.insert_answer(found.claim, answer, now)
            if reveals:
                disclosure.revealed(user.pk, found.item, now)
            record(now, event)
    except StaleClaimError:
        _keep(found, user, typed, now)
        raise
    except IntegrityError as error:  # the same answer was sent twice at once
        raise _stale() from error
    return _stored(BlindAnswer, id=pk, claim_id=found.claim, answered_at=now, **said)


def submit(
    token: uuid.UUID,
    user: User,
    ruling: Ruling,
    now: datetime | None = None,
    *,
    typed: Mapping[str, object] | None = None,
) -> Review:
    """Store step two and settle the item when this was the last review that it needs.

    Args:
        token: of the claim.
        user: who decides.
        ruling: step two.
        now: when.
        typed: the form as it was sent, kept as a draft should the claim be lost.

    Raises:
        StaleClaimError: the claim is not live any more, or its item left the queue meanwhile;
            no review is stored.
        InvalidAnswerError: the decision is incomplete, or step one is missing.
    """
    now = now or timezone.now()
    found = _live(token, user, now, typed)
    if not found.answered:
        raise InvalidAnswerError("the first step is missing: answer the question before you judge")
    check_ruling(ruling, found.options)
    rules = current_policy()
    checklist, verdicts = dict(ruling.checklist), dict(ruling.verdicts)
    seconds = max(0, int((now - found.claimed_at).total_seconds()))
    proposed = _proposed(found, ruling)
    event = _entry(
        user.pseudonym,
        "review.submitted",
        found.item,
        found.number,
        decision=ruling.decision,
        reasons=[list(reason) for reason in ruling.reasons],
        checklist=checklist,
        verdicts=verdicts,
        comment=ruling.comment,
        seconds=seconds,
        **({} if proposed is None else {"proposal": proposed}),
    )
    item = _item(found)
    fresh = frozenset(code for code, _ in ruling.reasons)
    named = Reason.PHI in fresh and danger(item, fresh)
    try:
        with transaction.atomic():
            others = incidents.lock_linked(Item.objects.get(pk=found.item)) if named else []
            # The item first: others who review, edit or end it wait here for the commit.
            item.reviews = review_sql.count_review(found.item, found.number, user.pk)
            if not item.reviews or not review_sql.close_claim(found.claim, now):
                raise _stale()
            pk = review_sql.insert_review(found.claim, ruling, seconds, now)
            if proposed is not None:
                Proposal.objects.create(review_id=pk, **proposed)
            claim_sql.drop_draft(found.version, user.pk)
            if named:
                others = [item, *(row for row in others if row.pk != item.pk)]
                entries = incidents.quarantine(item, others, user, now)[1]
            else:
                entries = settle(now, item, found.version, rules, fresh)
            record(now, event, *entries)
    except StaleClaimError:
        _keep(found, user, typed, now)
        raise
    if found.gold_defect:
        gold.judge(user, now)
    return _stored(
        Review,
        id=pk,
        claim_id=found.claim,
        decision=ruling.decision,
        checklist=checklist,
        verdicts=verdicts,
        comment=ruling.comment,
        seconds=seconds,
        submitted_at=now,
    )


_Row = TypeVar("_Row", bound=Model)


class _TakenError(Exception):
    """The chosen item has changed since it was chosen."""


def _claim(user: User, rules: Policy, now: datetime) -> Claim | None:
    reader = claim_sql.reader(user.pk)
    if reader.paused or not reader.active:
        return None
    chosen = _choose(user, rules, reader.specialties)
    if chosen is None:
        return None
    if not claim_sql.hold_item(chosen.item, chosen.number):
        raise _TakenError
    used = claim_sql.slots(chosen.version)
    slot = next(slot for slot in range(len(used) + 1) if slot not in used)
    seeing = sum(not blinded for blinded in used.values())
    if not chosen.gold and (
        slot >= rules.reviews or (not chosen.blinded and seeing >= rules.unblinded_reviews)
    ):
        raise _TakenError
    token, expires = uuid.uuid4(), now + timedelta(minutes=rules.lease_minutes)
    pk = claim_sql.insert_claim(chosen, user.pk, slot, token, now=now, expires=expires)
    claim_sql.carry_answer(pk, chosen.version, user.pk)
    disclosure.begun(user.pk, chosen.item, now)
    body = {"slot": slot, "blinded": chosen.blinded}
    record(now, _entry(user.pseudonym, "claim.issued", chosen.item, chosen.number, **body))
    return _stored(
        Claim,
        id=pk,
        version_id=chosen.version,
        user_id=user.pk,
        slot=slot,
        token=token,
        claimed_at=now,
        expires_at=expires,
        submitted_at=None,
        released_at=None,
        outcome="",
        blinded=chosen.blinded,
    )


def _choose(user: User, rules: Policy, fields: frozenset[str]) -> Candidate | None:
    lost = claim_sql.unfinished(user.pk, rules)
    if lost:
        return lost[0]
    if gold.is_turn(user, rules):
        found = claim_sql.waiting(user.pk, rules, gold=True)
        if found:
            return min(found, key=lambda item: _lot(user, item))
    found = claim_sql.waiting(user.pk, rules, gold=False)
    if not found:
        return None
    first = (found[0].reviews, found[0].priority)
    equal = [item for item in found if (item.reviews, item.priority) == first]
    # Of one case the first alone: its items stand in the order in which they tell least.
    cases = {item.case_key or item.item: item for item in reversed(equal)}
    equal = list(cases.values())
    return min(equal, key=lambda item: (item.returned, _foreign(item, fields), _lot(user, item)))


def _foreign(item: Candidate, fields: frozenset[str]) -> bool:
    return bool(fields) and not fields & {item.anatomy, item.modality}


def _lot(user: User, item: Candidate) -> str:
    return sha256(f"{user.pk}|{item.item}".encode()).hexdigest()


def _live(
    token: uuid.UUID, user: User, now: datetime, typed: Mapping[str, object] | None
) -> Standing:
    """A claim that is live as far as can be seen before the transaction."""
    found = _standing(token, user)
    waiting = found.state == State.QUEUED and found.current
    if not found.live or found.expires_at <= now or not waiting:
        _keep(found, user, typed, now)
        raise _stale()
    return found


def _standing(token: uuid.UUID, user: User) -> Standing:
    found = claim_sql.standing(token, user.pk)
    if found is None:
        raise _stale()
    return found


def _keep(found: Standing, user: User, typed: Mapping[str, object] | None, now: datetime) -> None:
    if typed is not None and not found.sent:
        claim_sql.keep_draft(found.version, user.pk, typed, now)


def _proposed(found: Standing, ruling: Ruling) -> dict[str, Any] | None:
    """Columns of the proposal, with the rules that it breaks."""
    if ruling.proposal is None:
        return None
    version = ItemVersion.objects.select_related("item").get(pk=found.version)
    flaws = flaws_to_json(flaws_of(version, ruling.proposal))
    return {**ruling.proposal.to_json(), "flaws": flaws}


def _item(found: Standing) -> Item:
    return _stored(
        Item,
        id=found.item,
        version=found.number,
        state=found.state,
        gold_defect=found.gold_defect,
    )


def _stored(model: type[_Row], **values: Any) -> _Row:
    """A row as a model, without reading it again."""
    row = model(**values)
    row._state.adding = False  # noqa: SLF001  (what ``Model.from_db`` does)
    row._state.db = "default"  # noqa: SLF001
    return row


def _stale() -> StaleClaimError:
    return StaleClaimError(
        "this item is not yours any more: the time ran out, it was given back, it left the queue, "
        "or the review was sent already; what you typed is kept, and comes with the item should "
        "you get it again"
    )


def _entry(actor: str, kind: str, item: str, number: int, **body: object) -> Entry:
    return Entry(actor=actor, kind=kind, object=f"item:{item}", body={"version": number, **body})
