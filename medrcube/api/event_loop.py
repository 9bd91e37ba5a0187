"""Run a function that starts an event loop of its own, also where one is running already."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from threading import Lock
from typing import TypeVar

__all__ = ["Interruption", "run_beside_loop"]

T = TypeVar("T")


class Interruption:
    """Cancels a task of the event loop of another thread, as Ctrl-C does in ``asyncio.run``."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelled = False
        self._lock = Lock()

    def attach(self) -> None:
        """Take the task that calls this first as the one to cancel."""
        with self._lock:
            if self._task is not None:
                return
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            if self._cancelled and self._task is not None:
                self._task.cancel()

    def cancel(self) -> None:
        """Cancel the task, or the one that is attached later; called from any thread."""
        with self._lock:
            self._cancelled = True
            if self._loop is not None and self._task is not None:
                with suppress(RuntimeError):  # the loop has ended meanwhile
                    self._loop.call_soon_threadsafe(self._task.cancel)


def run_beside_loop(function: Callable[[Interruption], T]) -> T:
    """Call ``function``, in a thread of its own where this thread runs an event loop.

    A notebook runs its cells inside a loop, in which ``asyncio.run`` is an error.

    Args:
        function: attaches the main task of its loop to what it is given.

    Raises:
        KeyboardInterrupt: the caller was interrupted, and the function has ended.
    """
    interruption = Interruption()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function(interruption)
    with ThreadPoolExecutor(1, thread_name_prefix="medrcube") as pool:
        # A thread starts without the words of a release that were activated here.
        future = pool.submit(copy_context().run, function, interruption)
        try:
            return future.result()
        except KeyboardInterrupt:
            interruption.cancel()
            raise
