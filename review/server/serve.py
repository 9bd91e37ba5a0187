"""Web server of the queue (waitress: threads and processes), and the status of the queue.

Waitress is a plain WSGI server for one machine. Behind a proxy that speaks https it takes the
proxy's word for the address of a client, and nobody else's.
"""

from __future__ import annotations

import os
import signal
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from types import FrameType
from typing import Any

from django.utils import timezone

from medrcube.review.audit_trail.event_chain import chain_head
from medrcube.review.errors import ReviewError
from medrcube.review.models import Role, User
from medrcube.review.quality import progress
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.state_machine import ReviewState
from medrcube.review.server.worker_processes import server_at, worker_processes

__all__ = [
    "PROCESSES",
    "THREADS",
    "console_user",
    "count_ahead",
    "has_administrator",
    "listening",
    "queue_status",
]

THREADS = 8
PROCESSES = min(4, os.cpu_count() or 1)
"""Python runs one thread of a process at a time, so each processor needs a process of its own."""


@contextmanager
def listening(
    host: str, port: int, *, threads: int = THREADS, processes: int = PROCESSES, proxy: str = ""
) -> Iterator[tuple[Any, str]]:
    """A server that has its port; gives it and its address. ``run()`` returns on SIGTERM.

    Args:
        host: address to listen on.
        port: 0 takes a free one.
        threads: requests that a process answers at once.
        processes: this one and others, which end with it.
        proxy: address of the proxy whose headers are believed; empty for none.

    Raises:
        ReviewError: the port is taken, the address is not one of this machine, or a process of the
            server has ended by itself.
    """
    options: dict[str, Any] = {"threads": threads, "proxy": proxy}
    try:
        door = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
    except (OSError, OverflowError) as error:
        raise ReviewError(
            f"{host}:{port}: cannot be listened on ({error}); choose another --port"
        ) from error
    address = f"[{host}]" if ":" in host else host
    before = signal.signal(signal.SIGTERM, _stop)
    with door, worker_processes(door, options, processes - 1):
        server = server_at(door, **options)
        try:
            yield server, f"http://{address}:{door.getsockname()[1]}/"
        finally:
            signal.signal(signal.SIGTERM, before)
            server.close()


def count_ahead() -> None:
    """Count in the background what the first pages of a large queue show."""
    from medrcube.review.views.managing import dashboards, reviewer_figures  # noqa: PLC0415

    for keeper in (dashboards.PROGRESS, dashboards.AGREEMENT, reviewer_figures.REVIEWERS):
        keeper.ahead()


def has_administrator() -> bool:
    """Whether anybody can make accounts."""
    return User.objects.filter(role=Role.ADMINISTRATOR, is_active=True).exists()


def console_user() -> User:
    """Whoever sits at the machine itself, as the trail names them; has no account."""
    return User(pseudonym="console")


def queue_status() -> dict[str, Any]:
    """How far the reviews are; people by pseudonym. Gold items are not counted."""
    now = timezone.now()
    voxels = progress.voxel_progress(now)
    states: Counter[str] = Counter()
    for voxel in voxels:
        states.update(voxel.states)
    return {
        "items": states.total(),
        "states": {state.value: states[state] for state in ReviewState if states[state]},
        "in_hand": sum(voxel.in_review for voxel in voxels),
        "voxels": [
            {
                "anatomy": voxel.anatomy,
                "modality": voxel.modality,
                "task": voxel.task,
                "states": dict(sorted(voxel.states.items())),
            }
            for voxel in voxels
        ],
        "reviewers": [
            {
                "reviewer": reviewer.pseudonym,
                "reviews": reviewer.done,
                "median_seconds": reviewer.seconds,
                "active": reviewer.active,
                "paused": reviewer.paused,
            }
            for reviewer in progress.reviewer_progress(current_policy(), progress.seconds_taken())
        ],
        "head": asdict(chain_head()),
    }


def _stop(_number: int, _frame: FrameType | None) -> None:
    """What Ctrl-C does; waitress lets running requests end and returns."""
    raise KeyboardInterrupt
