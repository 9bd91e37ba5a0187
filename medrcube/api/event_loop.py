"""Run a function that starts its own event loop, even if a loop is already running."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

__all__ = ["Interruption", "run_beside_loop"]

T = TypeVar("T")


class Interruption:
    """Cancel a task on another thread's event loop, as Ctrl-C does in ``asyncio.run``."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelled = False
        self._lock = threading.Lock()

    def attach(self) -> None:
        """Register the calling task as the one to cancel; only the first call counts."""
        with self._lock:
            if self._task is not None:
                return
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            if self._cancelled and self._task is not None:
                self._task.cancel()

    def cancel(self) -> None:
        """Cancel the attached task, or the next one to attach; safe to call from any thread."""
        with self._lock:
            self._cancelled = True
            if self._loop is not None and self._task is not None:
                with suppress(RuntimeError):  # the loop has ended in the meantime
                    self._loop.call_soon_threadsafe(self._task.cancel)


def run_beside_loop(function: Callable[[Interruption], T]) -> T:
    """Call ``function``, in a separate thread if this thread already runs an event loop.

    A notebook runs its cells inside an event loop, in which ``asyncio.run`` raises an error.

    Args:
        function: called with an ``Interruption``, to which it attaches the main task of its loop.

    Raises:
        KeyboardInterrupt: the caller was interrupted; the function has ended by then.
    """
    interruption = Interruption()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function(interruption)
    outcome: Future[T] = Future()
    # A new thread does not inherit the vocabulary of a release that was activated here.
    context = copy_context()

    def call() -> None:
        try:
            outcome.set_result(context.run(function, interruption))
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            outcome.set_exception(error)

    # Not a thread pool, which forgets its thread if the interrupt arrives while that is starting.
    thread = threading.Thread(target=call, name="medrcube")
    try:
        thread.start()
        return outcome.result()
    except KeyboardInterrupt:
        interruption.cancel()
        if thread in threading.enumerate():
            wait([outcome])
        raise
    finally:
        if outcome.done():
            thread.join()
