"""Cache of expensive figures; for large queues they are recomputed in the background.

A small queue is counted for every page. For a large one, the page shows the last figures with the
time at which they were computed, and starts a recount if anything has happened since.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import connections
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from medrcube import __version__
from medrcube.errors import WorkspaceError
from medrcube.files.atomic import PRIVATE, private_folder, replacing
from medrcube.review.audit_trail.event_chain import ChainHead, chain_head
from medrcube.review.models import Event

__all__ = ["LARGE", "STALE", "CachedFigures", "FigureCache"]

T = TypeVar("T")
_LOG = logging.getLogger(__name__)

LARGE = 20_000
"""Number of trail events from which figures are cached; fewer are counted in some 0.2 s."""
STALE = timedelta(minutes=1)
"""Age at which figures are recomputed even without new events: a lease expires without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedFigures(Generic[T]):
    """Figures, and the state of the queue that they were computed from.

    Attributes:
        figures: the figures.
        at: time at which counting began.
        head: head of the trail at that time.
        now: number of the last event when the figures were requested.
    """

    figures: T
    at: datetime
    head: ChainHead
    now: int

    @property
    def events_since(self) -> int:
        """Number of events that the figures do not include."""
        return self.now - self.head.number


class FigureCache(Generic[T]):
    """Cache of the result of one counting function; of concurrent threads only one counts.

    The last figures of a large queue are stored in a file next to the images, so that they survive
    the process and all processes of a server show the same figures.

    Args:
        name: name of the file.
        count: function that counts the current queue.
    """

    def __init__(self, name: str, count: Callable[[], T]) -> None:
        self._name = name
        self._count = count
        self._counting = Lock()
        self._last_reading: tuple[Path, int, CachedFigures[T] | None] | None = None

    def figures(self) -> CachedFigures[T]:
        """Return the current figures; for a large queue possibly the last cached ones."""
        top = chain_head()
        if top.number < LARGE:
            with self._counting:
                return self._counted()
        cached = self._last()
        if cached is None:
            with self._counting:
                return self._last() or self._counted()
        if _is_old(cached, top) and self._counting.acquire(blocking=False):
            Thread(target=self._recount, daemon=True).start()
        return replace(cached, now=top.number)

    def forget(self) -> None:
        """Invalidate the cache, because the figures have just been changed."""
        self._path.unlink(missing_ok=True)

    def ahead(self) -> None:
        """Count a large queue in the background, so that the first page need not wait."""
        if (
            chain_head().number >= LARGE
            and self._last() is None
            and self._counting.acquire(blocking=False)
        ):
            Thread(target=self._recount, daemon=True).start()

    @property
    def _path(self) -> Path:
        return Path(settings.FOLDER) / "figures" / self._name

    def _last(self) -> CachedFigures[T] | None:
        """Return the last figures of this queue; ``None`` if there are none."""
        path = self._path
        try:
            modified = path.stat().st_mtime_ns
            if self._last_reading is None or self._last_reading[:2] != (path, modified):
                self._last_reading = path, modified, _verified(path.read_bytes())
        except OSError:
            return None
        cached = self._last_reading[2]
        return cached if cached is not None and _is_in_trail(cached.head) else None

    def _counted(self) -> CachedFigures[T]:
        top, now = chain_head(), timezone.now()
        cached = CachedFigures(figures=self._count(), at=now, head=top, now=top.number)
        if top.number >= LARGE:
            try:
                private_folder(self._path.parent)
                with replacing(self._path, sync=False, mode=PRIVATE) as file:
                    file.write_bytes(_sign(cached))
            except WorkspaceError:
                _LOG.exception("figures cannot be kept; every page counts them again")
        return cached

    def _recount(self) -> None:
        try:
            cached = self._last()
            if cached is None or _is_old(
                cached, chain_head()
            ):  # another thread may just have counted
                self._counted()
        except Exception:  # noqa: BLE001  (a page never ends for it)
            _LOG.exception("figures could not be counted again; pages show the last ones")
        finally:
            connections.close_all()
            self._counting.release()


def _is_old(cached: CachedFigures[Any], top: ChainHead) -> bool:
    return top != cached.head or timezone.now() - cached.at > STALE


def _sign(cached: CachedFigures[Any]) -> bytes:
    data = pickle.dumps(cached)
    return _signature(data) + data


def _verified(sealed: bytes) -> Any:
    """Return figures signed by this version of medrcube; ``None`` for anything else."""
    seal, data = sealed[:_SEAL], sealed[_SEAL:]
    if not constant_time_compare(seal, _signature(data)):
        return None
    try:
        return pickle.loads(data)  # noqa: S301  (sealed with the key of the server)
    except (AttributeError, ImportError):  # a checkout renames classes within one version
        return None


_SEAL = 32


def _signature(data: bytes) -> bytes:
    name = f"medrcube.review.figures {__version__}"
    return salted_hmac(name, data, algorithm="sha256").digest()


def _is_in_trail(head: ChainHead) -> bool:
    """Whether this event is still in the trail; in a restored queue it is not."""
    return Event.objects.filter(number=head.number, sha256=head.sha256).exists()
