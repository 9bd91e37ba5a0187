"""Who reviews what: claims with leases, and the fenced submit of both steps.

That a version never has two holders of a slot is kept by the database (``models.work.Claim``),
not by this code: measured, check-then-insert handed out thousands of items twice under eight
processes, and ``FOR UPDATE SKIP LOCKED`` alone hundreds. What is here only makes collisions rare.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from medrcube.review.audit import SYSTEM, Entry, record
from medrcube.review.errors import InvalidAnswerError, StaleClaimError
from medrcube.review.models import (
    BlindAnswer,
    Claim,
    Draft,
    Item,
    ItemVersion,
    Project,
    Review,
    ReviewReason,
    User,
)
from medrcube.review.policy import Policy
from medrcube.review.questionnaire import CHECKLIST, Decision, NeedsImage, OptionVerdict, Reason
from medrcube.review.settle import settle
from medrcube.review.states import State

_LOOK_AHEAD = 16
"""Items of the same rank among which a reader's own lot decides, so that readers spread out."""
_TRIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Step one: what the reader says before the key is shown."""

    option: int | None
    confidence: int
    needs_image: str
    image_adequate: bool
    milliseconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """Step two: what the reader decides after the key is shown.

    Attributes:
        reasons: (code, index of the option or ``None``); at least one unless accepted.
    """

    decision: str
    checklist: dict[str, bool | None] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)
    reasons: tuple[tuple[str, int | None], ...] = ()
    comment: str = ""


def policy() -> Policy:
    """The rules of the project."""
    return Policy.from_json(Project.objects.values_list("policy", flat=True).get())


def claim_next(user: User, now: datetime | None = None) -> Claim | None:
    """The item that this reader should look at: the one they hold, or the next of the queue.

    ``None`` when nothing is left for them; a paused reader gets nothing new.
    """
    now = now or timezone.now()
    rules = policy()
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                return _claim(user, rules, now)
        except IntegrityError:  # another process took the slot between our look and our insert
            continue
    return None


def held(user: User, now: datetime | None = None) -> Claim | None:
    """The live claim of a reader, if there is one."""
    live = Claim.objects.filter(user=user, released_at=None, submitted_at=None)
    return live.filter(expires_at__gt=now or timezone.now()).order_by("claimed_at").first()


def renew(
    token: uuid.UUID, user: User, body: dict[str, object], now: datetime | None = None
) -> Claim:
    """Keep what was typed and hold the item for another lease.

    The text is kept even when the claim is lost; only then the error is raised.

    Raises:
        StaleClaimError: the claim is not live any more.
    """
    now = now or timezone.now()
    claim = _claim_of(token, user)
    Draft.objects.update_or_create(
        version_id=claim.version_id, user=user, defaults={"body": body, "saved_at": now}
    )
    expires = now + timedelta(minutes=policy().lease_minutes)
    if not _live(token, user, now).update(expires_at=expires):
        raise _stale()
    claim.expires_at = expires
    return claim


def give_back(
    token: uuid.UUID, user: User, *, not_my_field: bool, now: datetime | None = None
) -> None:
    """Return an item without a review; "not my field" keeps it from coming back to this reader.

    Raises:
        StaleClaimError: the claim is not live any more.
    """
    now = now or timezone.now()
    outcome = "skipped" if not_my_field else "given-back"
    with transaction.atomic():
        claim = _claim_of(token, user)
        if not _live(token, user, now).update(released_at=now, outcome=outcome):
            raise _stale()
        record(now, _entry(user.pseudonym, f"claim.{outcome}", claim))


def answer_blind(
    token: uuid.UUID, user: User, answer: Answer, now: datetime | None = None
) -> BlindAnswer:
    """Store step one; only after this may the key leave the server.

    Raises:
        StaleClaimError: the claim is not live any more, or was answered already.
        InvalidAnswerError: an answer that the questionnaire does not know.
    """
    now = now or timezone.now()
    with transaction.atomic():
        claim = _claim_of(token, user)
        _check_answer(answer, len(claim.version.options))
        lease = now + timedelta(minutes=policy().lease_minutes)
        if not _live(token, user, now).filter(blind=None).update(expires_at=lease):
            raise _stale()
        stored = BlindAnswer.objects.create(
            claim=claim,
            option=answer.option,
            confidence=answer.confidence,
            needs_image=answer.needs_image,
            image_adequate=answer.image_adequate,
            milliseconds=answer.milliseconds,
            answered_at=now,
        )
        record(
            now,
            _entry(
                user.pseudonym,
                "blind.answered",
                claim,
                option=answer.option,
                confidence=answer.confidence,
                needs_image=answer.needs_image,
                image_adequate=answer.image_adequate,
            ),
        )
    return stored


def submit(token: uuid.UUID, user: User, ruling: Ruling, now: datetime | None = None) -> Review:
    """Store step two and settle the item when this was the last review that it needs.

    Raises:
        StaleClaimError: the claim is not live any more; nothing is stored.
        InvalidAnswerError: the decision is incomplete, or step one is missing.
    """
    now = now or timezone.now()
    with transaction.atomic():
        claim = _claim_of(token, user)
        _check_ruling(ruling, claim)
        if not _live(token, user, now).update(submitted_at=now):
            raise _stale()
        review = Review.objects.create(
            claim=claim,
            decision=ruling.decision,
            checklist=ruling.checklist,
            verdicts=ruling.verdicts,
            comment=ruling.comment,
            seconds=int((now - claim.claimed_at).total_seconds()),
            submitted_at=now,
        )
        ReviewReason.objects.bulk_create(
            ReviewReason(review=review, code=code, option=option) for code, option in ruling.reasons
        )
        Draft.objects.filter(version_id=claim.version_id, user=user).delete()
        Item.objects.filter(pk=claim.version.item_id).update(reviews=F("reviews") + 1)
        settled = settle(claim.version, policy())
        record(
            now,
            _entry(
                user.pseudonym,
                "review.submitted",
                claim,
                decision=ruling.decision,
                reasons=[list(reason) for reason in ruling.reasons],
                checklist=ruling.checklist,
                verdicts=ruling.verdicts,
                comment=ruling.comment,
            ),
            *settled,
        )
    return review


def expire(now: datetime) -> list[Entry]:
    """Free the slots of claims whose lease is over; inside a transaction."""
    over = Claim.objects.filter(released_at=None, submitted_at=None, expires_at__lte=now)
    lost = list(over.select_related("version", "user"))
    if lost:
        over.filter(pk__in=[claim.pk for claim in lost]).update(released_at=now, outcome="expired")
    return [_entry(SYSTEM, "claim.expired", claim, user=claim.user.pseudonym) for claim in lost]


def _claim(user: User, rules: Policy, now: datetime) -> Claim | None:
    entries = expire(now)
    claim = held(user, now)
    if claim is None and not user.paused:
        item = _next_gold(user, rules) or _next_item(user, rules)
        if item is not None:
            claim = _insert(user, item, rules, now)
            entries.append(_entry(user.pseudonym, "claim.issued", claim, slot=claim.slot))
    record(now, *entries)
    return claim


def _insert(user: User, item: Item, rules: Policy, now: datetime) -> Claim:
    version = ItemVersion.objects.get(item=item, number=item.version)
    taken = Claim.objects.filter(version=version, released_at=None)
    used = set(taken.values_list("slot", flat=True))
    return Claim.objects.create(
        version=version,
        user=user,
        slot=next(slot for slot in range(len(used) + 1) if slot not in used),
        claimed_at=now,
        expires_at=now + timedelta(minutes=rules.lease_minutes),
    )


def _open_to(user: User) -> QuerySet[Item]:
    """Queued items that this reader may still review, in the order of the queue."""
    current = ItemVersion.objects.filter(item=OuterRef("pk"), number=OuterRef("version"))
    mine = Claim.objects.filter(
        Q(released_at=None) | Q(outcome="skipped"),
        version__item=OuterRef("pk"),
        version__number=OuterRef("version"),
        user=user,
    )
    return Item.objects.filter(
        ~Exists(mine), ~Exists(current.filter(author=user)), state=State.QUEUED
    ).order_by("-reviews", "-priority", "lot")


def _next_item(user: User, rules: Policy) -> Item | None:
    taken = (
        Claim.objects.filter(
            version__item=OuterRef("pk"), version__number=OuterRef("version"), released_at=None
        )
        .order_by()
        .values("version")
        .annotate(held=Count("pk"))
        .values("held")
    )
    free = _open_to(user).filter(gold_defect="").annotate(held=Coalesce(Subquery(taken), 0))
    found = list(_locked(free.filter(held__lt=rules.reviews))[:_LOOK_AHEAD])
    if not found:
        return None
    first = (found[0].reviews, found[0].priority)
    equal = [item for item in found if (item.reviews, item.priority) == first]
    fields = set(user.specialties)
    return min(equal, key=lambda item: (_foreign(item, fields), _lot(user, item)))


def _next_gold(user: User, rules: Policy) -> Item | None:
    """A gold item when it is this reader's turn for one; which turn that is, lot decides."""
    if not rules.gold_rate:
        return None
    done = Claim.objects.filter(user=user).count()
    drawn = int(sha256(f"{rules.seed}|{user.pk}|{done}".encode()).hexdigest()[:8], 16)
    if drawn >= rules.gold_rate * 2**32:
        return None
    found = list(_open_to(user).exclude(gold_defect="")[:_LOOK_AHEAD])
    return min(found, key=lambda item: _lot(user, item), default=None)


def _locked(items: QuerySet[Item]) -> QuerySet[Item]:
    """Rows that no other process is about to take; SQLite has one writer and needs no lock."""
    if connection.features.has_select_for_update_skip_locked:
        return items.select_for_update(skip_locked=True, of=("self",))
    return items


def _foreign(item: Item, fields: set[str]) -> bool:
    return bool(fields) and not fields & {item.anatomy, item.modality}


def _lot(user: User, item: Item) -> str:
    return sha256(f"{user.pk}|{item.pk}".encode()).hexdigest()


def _claim_of(token: uuid.UUID, user: User) -> Claim:
    found = Claim.objects.filter(token=token, user=user).select_related("version").first()
    if found is None:
        raise _stale()
    return found


def _live(token: uuid.UUID, user: User, now: datetime) -> QuerySet[Claim]:
    return Claim.objects.filter(
        token=token, user=user, released_at=None, submitted_at=None, expires_at__gt=now
    )


def _stale() -> StaleClaimError:
    return StaleClaimError(
        "this item is not yours any more: the time ran out, it was given back, or the review was "
        "sent already; what you typed is kept, take the item again to send it"
    )


def _entry(actor: str, kind: str, claim: Claim, **body: object) -> Entry:
    version = claim.version
    return Entry(
        actor=actor,
        kind=kind,
        object=f"item:{version.item_id}",
        body={"version": version.number, **body},
    )


def _check_answer(answer: Answer, options: int) -> None:
    if answer.option is not None and not 0 <= answer.option < options:
        raise InvalidAnswerError(f"option {answer.option}: the item has {options} options")
    if answer.confidence not in (1, 2, 3):
        raise InvalidAnswerError("say how sure you are: 1, 2 or 3")
    if answer.needs_image not in tuple(NeedsImage):
        raise InvalidAnswerError("say whether the question needs the image: yes, no or unsure")


def _check_ruling(ruling: Ruling, claim: Claim) -> None:
    options = len(claim.version.options)
    if not BlindAnswer.objects.filter(claim=claim).exists():
        raise InvalidAnswerError("the first step is missing: answer the question before you judge")
    if ruling.decision not in tuple(Decision):
        raise InvalidAnswerError("decide: accept, revise or reject")
    unknown = set(ruling.checklist) - {line.name for line in CHECKLIST}
    if unknown:
        raise InvalidAnswerError(f"{min(unknown)!r} is no line of the checklist")
    for index, verdict in ruling.verdicts.items():
        if not index.isdecimal() or int(index) >= options or verdict not in tuple(OptionVerdict):
            raise InvalidAnswerError(f"option {index}: {verdict!r} is no verdict on an option")
    _check_reasons(ruling, options)


def _check_reasons(ruling: Ruling, options: int) -> None:
    if ruling.decision != Decision.ACCEPT and not ruling.reasons:
        raise InvalidAnswerError("give at least one reason for not accepting the item as it is")
    for code, option in ruling.reasons:
        if code not in tuple(Reason):
            raise InvalidAnswerError(f"{code!r} is no reason code")
        if option is not None and not 0 <= option < options:
            raise InvalidAnswerError(f"reason {code}: option {option} of {options}")
    if any(code == Reason.OTHER for code, _ in ruling.reasons) and not ruling.comment.strip():
        raise InvalidAnswerError("the reason OTHER needs a comment")
