"""Workload of a reviewer: their share of the items, and the remaining time.

Nothing here depends on decisions of others: a figure that drops when somebody accepts an item would
reveal that decision to the item's next reviewer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from django.core.cache import cache

from medrcube.review.models import Item, Review, Role, User
from medrcube.review.reviewing.policy import current_policy

__all__ = ["Workload", "workload_of"]

_RECENT = 50
"""Number of latest reviews whose median time is used for the forecast."""
_FRESH = 60
"""Cache lifetime of the share in seconds, because counting 100,000 items takes a while."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Workload of one reviewer.

    Attributes:
        count: number of valid reviews.
        share: number of reviews per reviewer if the work were spread evenly.
        seconds: median time of the latest reviews; ``None`` before the first.
    """

    count: int
    share: int
    seconds: float | None

    @property
    def time_left(self) -> str:
        """Return the remaining time in words; empty if unknown or if nothing is left."""
        if self.seconds is None or self.count >= self.share:
            return ""
        minutes = (self.share - self.count) * self.seconds / 60
        return f"{max(1, math.ceil(minutes))} min" if minutes < 90 else f"{minutes / 60:.0f} h"


def workload_of(user: User) -> Workload:
    """Compute the workload of one reviewer."""
    mine = Review.objects.filter(claim__user=user, claim__released_at=None)
    recent = list(mine.order_by("-submitted_at").values_list("seconds", flat=True)[:_RECENT])
    share: int = cache.get_or_set("share", _even_share, _FRESH)  # type: ignore[assignment]
    return Workload(
        count=mine.count(),
        share=share,
        seconds=median(recent) if recent else None,
    )


def _even_share() -> int:
    reviewers = User.objects.filter(role=Role.REVIEWER, is_active=True).count()
    items = Item.objects.count()
    return math.ceil(items * current_policy().reviews / max(1, reviewers))
