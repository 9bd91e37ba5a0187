"""Cache of figures that take long to count; large queues recount in the background.

A small queue is counted for every page. Of a large one a page shows the last figures, tells when
they were counted, and has them counted again once something has happened since.
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
"""Events of the trail from which on figures are kept; fewer are counted in some 0.2 s."""
STALE = timedelta(minutes=1)
"""Age at which they are counted again though nothing was recorded: a lease ends unrecorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedFigures(Generic[T]):
    """Figures, and what they rest on.

    Attributes:
        figures: what was counted.
        at: when counting began.
        head: of the trail at that time.
        now: number of the last event when the figures were asked for.
    """

    figures: T
    at: datetime
    head: ChainHead
    now: int

    @property
    def events_since(self) -> int:
        """Events that the figures do not know of."""
        return self.now - self.head.number


class FigureCache(Generic[T]):
    """Keeps what one function counts; of threads that want figures at once, one counts.

    The last figures of a large queue lie in a file beside the images, so that they outlive the
    process and all processes of a server show the same.

    Args:
        name: of the file.
        count: counts the figures of the queue as it is.
    """

    def __init__(self, name: str, count: Callable[[], T]) -> None:
        self._name = name
        self._count = count
        self._counting = Lock()
        self._read: tuple[Path, int, CachedFigures[T] | None] | None = None

    def figures(self) -> CachedFigures[T]:
        """The figures as they are now; of a large queue perhaps the last ones."""
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
        """Have the next page count: somebody has just changed what it shows."""
        self._path.unlink(missing_ok=True)

    def ahead(self) -> None:
        """Count in the background what the first page of a large queue would have to wait for."""
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
        """What was counted last, of this queue; ``None`` where there is nothing."""
        path = self._path
        try:
            written = path.stat().st_mtime_ns
            if self._read is None or self._read[:2] != (path, written):
                self._read = path, written, _verified(path.read_bytes())
        except OSError:
            return None
        cached = self._read[2]
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
    """Figures that this version of medrcube has sealed; ``None`` for anything else."""
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
    """Whether that event is still in the trail; a restored queue has another one."""
    return Event.objects.filter(number=head.number, sha256=head.sha256).exists()
