"""Effect of a changed specialist rule (``Policy.specialists``) on the items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db.models import Count, F, Q

from medrcube.review.audit_trail.event_chain import NewEvent
from medrcube.review.models import Item, ItemVersion
from medrcube.review.reviewing.consensus import apply_consensus, apply_transition
from medrcube.review.reviewing.policy import Policy
from medrcube.review.reviewing.sql.batches import batches
from medrcube.review.reviewing.sql.cursor import execute
from medrcube.review.reviewing.state_machine import ReviewState, Transition

__all__ = ["apply_specialist_rule", "short_of_specialists"]


def apply_specialist_rule(
    before: Policy, after: Policy, actor: str, now: datetime
) -> list[NewEvent]:
    """Apply a new rule to all items, in the transaction that changes it.

    Accepted items, and items in adjudication, that now lack a specialist's review return to the
    queue with their reviews; items that waited only for a specialist and no longer need one are
    decided. Rejected and released items are unchanged.
    """
    if before.specialists == after.specialists:
        return []
    decided = (ReviewState.ACCEPTED, ReviewState.ADJUDICATION)
    entries = [
        apply_transition(now, version.item, Transition.SPECIALIST_WANTED, actor)
        for version in _versions_in_batches(short_of_specialists(after, *decided))
    ]
    _mark(after)
    complete = ItemVersion.objects.filter(
        number=F("item__version"),
        item__state=ReviewState.QUEUED,
        item__gold_defect="",
        item__reviews__gte=after.reviews,
    )
    for version in _versions_in_batches(complete.values_list("pk", flat=True)):
        entries += apply_consensus(now, version.item, version.pk, after)
    return entries


def short_of_specialists(rules: Policy, *states: ReviewState) -> list[int]:
    """Return current versions in these states with fewer specialist reviews than required."""
    if not rules.specialists:
        return []
    valid = Q(claims__submitted_at__isnull=False, claims__released_at=None, claims__specialist=True)
    versions = ItemVersion.objects.filter(
        number=F("item__version"), item__state__in=states, item__gold_defect=""
    ).annotate(specialists=Count("claims", filter=valid))
    short = versions.filter(specialists__lt=rules.specialists).order_by("item_id")
    return list(short.values_list("pk", flat=True))


def _mark(rules: Policy) -> None:
    if not rules.specialists:
        Item.objects.filter(for_specialist=True).update(for_specialist=False)
        return
    execute(
        """
        UPDATE review_item SET for_specialist = (
            SELECT count(*) FILTER (WHERE NOT c.specialist) >= %s
            FROM review_itemversion v JOIN review_claim c ON c.version_id = v.id
            WHERE v.item_id = review_item.id AND v.number = review_item.version
            AND c.submitted_at IS NOT NULL AND c.released_at IS NULL
        ) WHERE gold_defect = ''
        """,
        rules.reviews - rules.specialists,
    )


def _versions_in_batches(versions: Iterable[int]) -> Iterator[ItemVersion]:
    for part in batches(list(versions)):
        rows = ItemVersion.objects.filter(pk__in=part)
        yield from rows.select_related("item").order_by("item_id")
