"""Workload of a reviewer: share of the items, and the time that the rest takes.

Nothing here depends on what others decided: a figure that falls when somebody accepts an item
would tell the next reviewer of it what the first one thought.
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
"""Reviews whose median time the forecast goes by."""
_FRESH = 60
"""Seconds for which the share is kept: counting 100,000 items takes a while."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The work of one reviewer.

    Attributes:
        done: reviews that stand.
        share: reviews of each reviewer, were the work spread evenly.
        seconds: median time of their latest reviews; ``None`` before the first.
    """

    done: int
    share: int
    seconds: float | None

    @property
    def left(self) -> str:
        """Time that the rest of the share takes, in words; empty where nothing is known or left."""
        if self.seconds is None or self.done >= self.share:
            return ""
        minutes = (self.share - self.done) * self.seconds / 60
        return f"{math.ceil(minutes)} min" if minutes < 90 else f"{minutes / 60:.0f} h"


def workload_of(user: User) -> Workload:
    """Count for one reviewer."""
    mine = Review.objects.filter(claim__user=user, claim__released_at=None)
    recent = list(mine.order_by("-submitted_at").values_list("seconds", flat=True)[:_RECENT])
    share: int = cache.get_or_set("share", _even_share, _FRESH)  # type: ignore[assignment]
    return Workload(
        done=mine.count(),
        share=share,
        seconds=median(recent) if recent else None,
    )


def _even_share() -> int:
    reviewers = User.objects.filter(role=Role.REVIEWER, is_active=True).count()
    items = Item.objects.count()
    return math.ceil(items * current_policy().reviews / max(1, reviewers))
