"""Privacy incidents: everything that may identify the same patient leaves the queue immediately.

An incident covers every item that has the same image, was made from the same raw file, or is about
the same case. A release omits the same items.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Asset, Incident, Item, ItemVersion, RawFile, User
from medrcube.review.reviewing.consensus import apply_consensus, apply_transition
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.questionnaire import Reason
from medrcube.review.reviewing.sql.cursor import fetch_one
from medrcube.review.reviewing.state_machine import ReviewState, Transition

__all__ = [
    "UNSEEN",
    "decide_incident",
    "is_closed",
    "linked_items",
    "lock_linked",
    "open_incidents",
    "quarantine_linked",
    "report_incident",
]

UNSEEN = frozenset(
    {ReviewState.DRAFT, ReviewState.REJECTED, ReviewState.WITHDRAWN, ReviewState.QUARANTINED}
)
"""States in which an item is shown to nobody."""


def linked_items(item: Item) -> QuerySet[Item]:
    """Return an item and all visible items that may identify the same patient."""
    versions = ItemVersion.objects.filter(item=item)
    pictures = {
        *versions.values_list("picture", flat=True),
        *versions.exclude(overlay=None).values_list("overlay", flat=True),
    }
    same_picture = ItemVersion.objects.filter(
        Q(picture__in=pictures) | Q(overlay__in=pictures), number=F("item__version")
    )
    own_files = RawFile.objects.filter(item=item).values("sha256")
    same_file = RawFile.objects.filter(sha256__in=own_files)
    same = Q(pk=item.pk) | Q(pk__in=same_picture.values("item"))
    same |= Q(pk__in=same_file.values("item"))
    if item.case_key:
        same |= Q(case_key=item.case_key)
    return Item.objects.filter(same).exclude(state__in=UNSEEN)


def report_incident(item_id: str, user: User, now: datetime | None = None) -> Incident:
    """Quarantine an item that identifies the patient, and all items that may do so.

    Raises:
        ConflictError: the item is no longer shown to anybody, so there is nothing to do.
    """
    now = now or timezone.now()
    with transaction.atomic():
        item = Item.objects.get(pk=item_id)
        items = lock_linked(item)
        if item.pk not in {row.pk for row in items}:
            raise ConflictError("this item has already been removed from the queue")
        incident, entries = quarantine_linked(item, items, user, now)
        record_events(now, *entries)
    return incident


def lock_linked(item: Item) -> list[Item]:
    """Lock and return the items covered by an incident, in the common lock order."""
    rows = Item.objects.select_for_update(no_key=True, of=("self",))
    return list(rows.filter(pk__in=linked_items(item).values("pk")).order_by("pk"))


def quarantine_linked(
    item: Item, items: list[Item], user: User, now: datetime
) -> tuple[Incident, list[NewEvent]]:
    """Quarantine items as one incident, in the transaction that has locked them."""
    incident = Incident.objects.create(item=item, reporter=user, reported_at=now)
    body = {"reasons": [Reason.PHI.value], "incident": incident.pk, "seen_on": item.pk}
    entries = [
        apply_transition(now, row, Transition.DANGER_SEEN, user.pseudonym, **body) for row in items
    ]
    Item.objects.filter(pk__in=[row.pk for row in items]).update(incident=incident)
    return incident, entries


def is_closed(picture: Asset) -> bool:
    """Whether an image may identify a patient: it was reported and not cleared.

    This applies to every image of a quarantined item and to those that share its raw file or case,
    whatever the state of their own items.
    """
    if fetch_one(_ANY_REPORTED) is None:
        return False
    reported = Item.objects.filter(
        incident__isnull=False, state__in=[ReviewState.QUARANTINED, ReviewState.REJECTED]
    )
    item_ids = ItemVersion.objects.filter(Q(picture=picture) | Q(overlay=picture)).values("item")
    cases = Item.objects.filter(pk__in=item_ids).exclude(case_key="").values("case_key")
    files = RawFile.objects.filter(item__in=item_ids).values("sha256")
    same_file = RawFile.objects.filter(sha256__in=files).values("item")
    return reported.filter(
        Q(pk__in=item_ids) | Q(case_key__in=cases) | Q(pk__in=same_file)
    ).exists()


_ANY_REPORTED = """
    SELECT 1 FROM review_item
    WHERE incident_id IS NOT NULL AND state IN ('quarantined', 'rejected') LIMIT 1
"""
"""Quick check first: it runs for every image, and reports are rare."""


def open_incidents() -> QuerySet[Incident]:
    """Return the undecided incidents, newest first."""
    incidents = Incident.objects.filter(closed_at=None).select_related("item", "reporter")
    return incidents.order_by("-pk")


def decide_incident(
    incident_id: int, manager: User, *, clear: bool, note: str, now: datetime | None = None
) -> int:
    """Return the items of an incident to the queue, or reject them; return their number.

    Items that a manager has decided individually are unchanged.

    Raises:
        InvalidAnswerError: no note.
        ConflictError: the incident has already been decided.
    """
    now = now or timezone.now()
    if not note.strip():
        raise InvalidAnswerError("state what you found, and why the items may or may not be used")
    step = Transition.MANAGER_CLEARS if clear else Transition.MANAGER_REJECTS
    rules = current_policy()
    with transaction.atomic():
        open_one = Incident.objects.filter(pk=incident_id, closed_at=None)
        if not open_one.update(closed_at=now):
            raise ConflictError("somebody has already decided on this report")
        quarantined = Item.objects.filter(incident=incident_id, state=ReviewState.QUARANTINED)
        items = list(quarantined.select_for_update(no_key=True, of=("self",)).order_by("pk"))
        versions = dict(
            ItemVersion.objects.filter(item__in=items, number=F("item__version")).values_list(
                "item_id", "pk"
            )
        )
        entries: list[NewEvent] = []
        for item in items:
            body = {"note": note, "incident": incident_id}
            entries.append(apply_transition(now, item, step, manager.pseudonym, **body))
            if clear:
                entries += apply_consensus(now, item, versions[item.pk], rules)
        record_events(now, *entries)
    return len(items)
