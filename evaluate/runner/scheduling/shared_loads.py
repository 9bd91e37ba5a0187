"""Single-flight cache for values that are loaded in a thread."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["SingleFlightCache", "T"]

T = TypeVar("T")


class SingleFlightCache(Generic[T]):
    """LRU cache, bounded by weight, in which concurrent requests for a key share one load.

    Questions on one image are consecutive, so a small cache is enough to read and encode each image
    once; memory does not grow with the number of questions.
    """

    def __init__(self, *, most: int, weigh: Callable[[T], int]) -> None:
        self._most = most
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[str, T] = OrderedDict()
        self._tasks: dict[str, asyncio.Task[T]] = {}

    async def get(self, key: str, make: Callable[[], T]) -> T:
        """Return ``make()`` for ``key``; runs in a thread, one call at a time for each key."""
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(self._make(key, make))
            self._tasks[key] = task
        # A cancelled caller must not cancel the load for the others.
        return await asyncio.shield(task)

    async def _make(self, key: str, make: Callable[[], T]) -> T:
        try:
            value = await asyncio.to_thread(make)
        finally:
            del self._tasks[key]
        self._values[key] = value
        self._weight += self._weigh(value)
        while self._weight > self._most:
            _, dropped = self._values.popitem(last=False)
            self._weight -= self._weigh(dropped)
        return value
