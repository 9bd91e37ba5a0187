"""Figures that take long to count: kept for the next page, and counted anew in the background.

A small queue is counted for every page. Of a large one a page shows the last figures, tells when
they were counted, and has them counted again once something has happened since.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock, Thread
from typing import Generic, TypeVar

from django.db import connections
from django.utils import timezone

from medrcube.review.audit import Head, head
from medrcube.review.models import Event

__all__ = ["LARGE", "STALE", "Counted", "Keeper"]

T = TypeVar("T")
_LOG = logging.getLogger(__name__)

LARGE = 20_000
"""Events of the trail from which on figures are kept; fewer are counted in some 0.2 s."""
STALE = timedelta(minutes=1)
"""Age at which they are counted again though nothing was recorded: a lease ends unrecorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Generic[T]):
    """Figures, and what they rest on.

    Attributes:
        figures: what was counted.
        at: when counting began.
        head: of the trail at that time.
        now: number of the last event when the figures were asked for.
    """

    figures: T
    at: datetime
    head: Head
    now: int

    @property
    def events_since(self) -> int:
        """Events that the figures do not know of."""
        return self.now - self.head.number


class Keeper(Generic[T]):
    """Keeps what one function counts; of threads that want figures at once, one counts.

    Args:
        count: counts the figures of the queue as it is.
    """

    def __init__(self, count: Callable[[], T]) -> None:
        self._count = count
        self._counting = Lock()
        self._kept: Counted[T] | None = None

    def figures(self) -> Counted[T]:
        """The figures as they are now; of a large queue perhaps the last ones."""
        top = head()
        kept = self._kept
        if top.number < LARGE or kept is None or not _of_this_trail(kept.head):
            with self._counting:
                return self._counted()
        if (top != kept.head or timezone.now() - kept.at > STALE) and self._counting.acquire(
            blocking=False
        ):
            Thread(target=self._recount, daemon=True).start()
        return replace(kept, now=top.number)

    def forget(self) -> None:
        """Have the next page count: somebody has just changed what it shows."""
        self._kept = None

    def _counted(self) -> Counted[T]:
        top, now = head(), timezone.now()
        self._kept = Counted(figures=self._count(), at=now, head=top, now=top.number)
        return self._kept

    def _recount(self) -> None:
        try:
            self._counted()
        except Exception:  # noqa: BLE001  (a page never ends for it)
            _LOG.exception("figures could not be counted again; pages show the last ones")
        finally:
            connections.close_all()
            self._counting.release()


def _of_this_trail(seen: Head) -> bool:
    """Whether that event is still in the trail; a restored queue has another one."""
    return Event.objects.filter(number=seen.number, sha256=seen.sha256).exists()
