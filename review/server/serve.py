"""Web server of the queue (waitress: threads and processes), and status of the queue.

Waitress is a plain WSGI server for one machine. Behind an https proxy it trusts only that proxy for
the address of the client.
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
"""Python runs one thread per process at a time, so each processor needs its own process."""


@contextmanager
def listening(
    host: str, port: int, *, threads: int = THREADS, processes: int = PROCESSES, proxy: str = ""
) -> Iterator[tuple[Any, str]]:
    """Yield a server bound to its port, and its address; ``run()`` returns on SIGTERM.

    Args:
        host: address to listen on.
        port: port; 0 selects a free one.
        threads: number of concurrent requests per process.
        processes: number of processes including this one; the others exit with it.
        proxy: address of the trusted proxy; empty for none.

    Raises:
        ReviewError: the port is in use, the address does not belong to this machine, or a process
            of the server has exited unexpectedly.
    """
    options: dict[str, Any] = {"threads": threads, "proxy": proxy}
    try:
        door = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
    except (OSError, OverflowError) as error:
        raise ReviewError(
            f"{host}:{port}: cannot listen there ({error}); choose another --port"
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
    """Compute the figures of the first pages of a large queue in the background."""
    from medrcube.review.views.managing import dashboards, reviewer_figures  # noqa: PLC0415

    for keeper in (dashboards.PROGRESS, dashboards.AGREEMENT, reviewer_figures.REVIEWERS):
        keeper.ahead()


def has_administrator() -> bool:
    """Whether there is an account that can create accounts."""
    return User.objects.filter(role=Role.ADMINISTRATOR, is_active=True).exists()


def console_user() -> User:
    """Return the user of the command line, as named in the trail; it has no account."""
    return User(pseudonym="console")


def queue_status() -> dict[str, Any]:
    """Return the progress of the reviews, with people by pseudonym and without gold items."""
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
    """Stop as on Ctrl-C; waitress finishes running requests and returns."""
    raise KeyboardInterrupt
