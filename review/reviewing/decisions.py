"""Decisions after review: adjudication, quarantine, release, withdrawal.

The author of a version never approves it, and its reviewers never adjudicate it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import SYSTEM, NewEvent, chain_head, record_events
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import (
    Adjudication,
    ItemVersion,
    ReleaseItem,
    ReleaseRecord,
    Review,
    User,
)
from medrcube.review.reviewing.consensus import apply_consensus, apply_transition
from medrcube.review.reviewing.item_versions import (
    refuse_outdated,
    version_as_read,
    wrote_or_proposed,
)
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.questionnaire import Decision, Reason
from medrcube.review.reviewing.state_machine import ReviewState, Transition

__all__ = ["adjudicate", "decide_quarantine", "record_release", "report_harm", "withdraw"]

_TRANSITIONS = {
    Decision.ACCEPT: Transition.ADJUDICATOR_ACCEPTS,
    Decision.REJECT: Transition.ADJUDICATOR_REJECTS,
    Decision.REVISE: Transition.ADJUDICATOR_SENDS_BACK,
}


def adjudicate(
    item_id: str,
    version: int,
    user: User,
    *,
    outcome: str,
    rationale: str,
    now: datetime | None = None,
) -> Adjudication:
    """Decide an item on which the reviewers disagree.

    Raises:
        InvalidAnswerError: unknown outcome, no rationale, or the person wrote or reviewed the
            version.
        IllegalTransitionError: the item is not in adjudication.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    if outcome not in tuple(Decision):
        raise InvalidAnswerError("decide: accept, revise or reject")
    if not rationale.strip():
        raise InvalidAnswerError("state a reason: reviewers and later adjudicators learn from it")
    with transaction.atomic():
        item_version = version_as_read(item_id, version)
        _refuse_involved(item_version, user)
        adjudication = Adjudication.objects.create(
            version=item_version,
            adjudicator=user,
            outcome=outcome,
            rationale=rationale,
            decided_at=now,
        )
        step = _TRANSITIONS[Decision(outcome)]
        record_events(
            now, apply_transition(now, item_version.item, step, user.pseudonym, rationale=rationale)
        )
    return adjudication


def decide_quarantine(
    item_id: str, version: int, user: User, *, clear: bool, note: str, now: datetime | None = None
) -> None:
    """Return a quarantined item to the queue, or reject it.

    Raises:
        InvalidAnswerError: no note.
        IllegalTransitionError: the item is not in quarantine.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    if not note.strip():
        raise InvalidAnswerError("state what you found, and why the item may or may not be used")
    with transaction.atomic():
        item_version = version_as_read(item_id, version)
        step = Transition.MANAGER_CLEARS if clear else Transition.MANAGER_REJECTS
        entries = [apply_transition(now, item_version.item, step, user.pseudonym, note=note)]
        if clear:
            entries += apply_consensus(now, item_version.item, item_version.pk, current_policy())
        record_events(now, *entries)


def report_harm(
    item_id: str, version: int, user: User, *, reason: str, note: str, now: datetime | None = None
) -> None:
    """Quarantine an item that somebody other than a reviewer considers harmful.

    Personal data is reported with ``privacy_incidents.report_incident``.

    Raises:
        InvalidAnswerError: the reason is not a danger, there is no note, or the item is no longer
            shown to anybody.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    if reason != Reason.UNSAFE:
        raise InvalidAnswerError("only UNSAFE is reported with a note; PHI needs none")
    if not note.strip():
        raise InvalidAnswerError(
            "state what you saw, without repeating anything that identifies a person"
        )
    with transaction.atomic():
        item_version = version_as_read(item_id, version)
        if item_version.item.state in (
            ReviewState.DRAFT,
            ReviewState.REJECTED,
            ReviewState.WITHDRAWN,
        ):
            raise InvalidAnswerError(f"the item is {item_version.item.state}: nobody is shown it")
        who = user.pseudonym
        record_events(
            now,
            apply_transition(
                now, item_version.item, Transition.DANGER_SEEN, who, reasons=[reason], note=note
            ),
        )


def record_release(
    name: str, versions: Iterable[int], manifest_sha256: str, now: datetime | None = None
) -> ReleaseRecord:
    """Record a release of accepted versions, with the preceding head of the chain.

    Raises:
        IllegalTransitionError: an item is not accepted.
        ConflictError: a version does not exist or is not the current one of its item, or there
            already is a release of that name.
    """
    now = now or timezone.now()
    version_ids = set(versions)
    with transaction.atomic():
        if ReleaseRecord.objects.filter(name=name).exists():
            raise ConflictError(f"there is a release {name!r} already; give this one another name")
        at = chain_head()
        release = ReleaseRecord.objects.create(
            name=name,
            made_at=now,
            manifest_sha256=manifest_sha256,
            head_number=at.number,
            head_sha256=at.sha256,
        )
        rows = ItemVersion.objects.select_related("item").in_bulk(version_ids)
        if len(rows) < len(version_ids):
            missing = min(version_ids - set(rows))
            raise ConflictError(f"there is no version {missing}; export the items again")
        entries: list[NewEvent] = []
        for version in sorted(rows.values(), key=lambda version: version.item_id):
            refuse_outdated(version)
            entries.append(
                apply_transition(now, version.item, Transition.RELEASE, SYSTEM, release=name)
            )
        ReleaseItem.objects.bulk_create(
            [ReleaseItem(release=release, version=version) for version in rows.values()],
            batch_size=500,
        )
        record_events(now, *entries)
    return release


def withdraw(
    item_id: str, version: int, user: User, note: str, now: datetime | None = None
) -> None:
    """Withdraw a released item that is wrong; it is never edited in place.

    Raises:
        InvalidAnswerError: no note.
        IllegalTransitionError: the item was not released.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    if not note.strip():
        raise InvalidAnswerError("state what is wrong with the item")
    with transaction.atomic():
        item_version = version_as_read(item_id, version)
        record_events(
            now,
            apply_transition(
                now, item_version.item, Transition.DEFECT_FOUND, user.pseudonym, note=note
            ),
        )


def _refuse_involved(version: ItemVersion, user: User) -> None:
    if wrote_or_proposed(version, user):
        raise InvalidAnswerError("you wrote this version; somebody else must decide on it")
    if Review.objects.filter(claim__version=version, claim__user=user).exists():
        raise InvalidAnswerError("you reviewed this version; somebody else must decide on it")
