"""Worker processes that share the listening socket of the first one.

Each is started anew, not forked: a fork would share connections to the database and locks that
threads hold. It reads its standard input and ends when the first process closes it, however that
ended.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import waitress  # type: ignore[import-untyped]

from medrcube.review.errors import ReviewError

__all__ = ["server_at", "worker_processes"]

_PATIENCE = 10
"""Seconds in which a process answers the requests that it has."""


def server_at(door: socket.socket, *, threads: int, proxy: str) -> Any:
    """A server of this process at a socket that several may share.

    Args:
        door: bound; accepting is up to the server.
        threads: requests that are answered at once.
        proxy: address of the proxy whose headers are believed; empty for none.
    """
    from medrcube.review.wsgi import application  # noqa: PLC0415  (needs Django to be ready)

    trust: dict[str, Any] = {}
    if proxy:
        headers = {"x-forwarded-for", "x-forwarded-proto"}
        trust = {"trusted_proxy": proxy, "trusted_proxy_headers": headers}
    # A queue of one request is no news; waitress warns of every one.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    return waitress.create_server(
        application,
        sockets=[door],
        threads=threads,
        ident="",
        clear_untrusted_proxy_headers=True,
        max_request_body_size=2_000_000,
        **trust,
    )


@contextmanager
def worker_processes(door: socket.socket, options: dict[str, Any], count: int) -> Iterator[None]:
    """Have further processes answer at a socket while the block runs.

    Args:
        door: bound.
        options: of ``server_at``.
        count: how many.

    Raises:
        ReviewError: one of them has ended by itself; the block was interrupted for it.
    """
    number = door.fileno()
    command = [sys.executable, "-m", __name__, str(number), json.dumps(options)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    running = [subprocess.Popen(command, pass_fds=[number], **pipes) for _ in range(count)]  # noqa: S603
    over, lost = Event(), Event()

    def watch(process: subprocess.Popen[bytes]) -> None:
        process.wait()
        if not over.is_set():
            lost.set()
            os.kill(os.getpid(), signal.SIGTERM)

    for process in running:
        Thread(target=watch, args=[process], daemon=True).start()
    try:
        for process in running:
            # Whoever answers first would keep all connections: they stay open.
            if process.stdout:
                process.stdout.readline()
        yield
    finally:
        over.set()
        for process in running:
            if process.stdin:
                process.stdin.close()
        for process in running:
            _end(process)
    if lost.is_set():
        raise ReviewError("a process of the server has ended by itself; start the server again")


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


def _run_worker() -> None:
    """What one of these processes does."""
    import django  # noqa: PLC0415  (the environment was set by the first process)

    django.setup()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first one tells us
    server = server_at(socket.socket(fileno=int(sys.argv[1])), **json.loads(sys.argv[2]))

    def follow() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, _interrupt)
    Thread(target=follow, daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    server.run()


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    _run_worker()
