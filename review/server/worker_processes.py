"""Worker processes that share the listening socket of the main process.

They are spawned, not forked: a fork would share database connections and locks held by threads. A
worker reads its standard input and exits when the main process closes it, however that one ended.
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
"""Seconds that a stopping process has to finish its requests."""


def server_at(door: socket.socket, *, threads: int, proxy: str) -> Any:
    """Create the server of this process on a socket that several processes may share.

    Args:
        door: bound socket, on which the server accepts.
        threads: number of concurrent requests.
        proxy: address of the trusted proxy; empty for none.
    """
    from medrcube.review.wsgi import application  # noqa: PLC0415  (needs Django to be ready)

    trust: dict[str, Any] = {}
    if proxy:
        headers = {"x-forwarded-for", "x-forwarded-proto"}
        trust = {"trusted_proxy": proxy, "trusted_proxy_headers": headers}
    # Waitress warns about every queued request, even a single one.
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
    """Run further processes that serve a socket for the duration of the block.

    Args:
        door: bound socket.
        options: arguments of ``server_at``.
        count: number of processes.

    Raises:
        ReviewError: a process has exited unexpectedly, and the block was interrupted.
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
            # Connections stay open, so the first process to accept would get all of them.
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
        raise ReviewError("a server process ended unexpectedly; start the server again")


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


def _run_worker() -> None:
    """Main function of a worker process."""
    import django  # noqa: PLC0415  (the environment was set by the first process)

    django.setup()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the main process stops us
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
