"""Render jobs of a build as a sequence whose elements are loaded shard by shard.

A job holds everything that is stated about its case, several kilobytes. The list holds eight bytes
for each job, and the jobs of a few shards at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from medrcube.build.stages.plan import RenderJob

__all__ = ["JobList", "NewJobs"]

_WINDOW = 1_024
"""Cases of shards that are loaded together and whose jobs are sorted by size together."""

_WINDOWS = 2
"""Windows in memory: the one from which jobs are taken, and the one whose jobs are running."""


class NewJobs(NamedTuple):
    """The jobs of one shard that have to be rendered.

    Attributes:
        shard: number of the shard.
        cases: number of all cases of the shard.
        places: positions of the jobs among them.
        sizes: size of the raw files of each job, in bytes.
    """

    shard: int
    cases: int
    places: NDArray[np.int32]
    sizes: NDArray[np.int64]


class JobList(Sequence[RenderJob]):
    """Jobs to render, those with large files first.

    No worker should be left with a large file at the end. Shards are ordered by their largest job;
    within consecutive shards of ``_WINDOW`` cases or more, jobs are ordered by size.
    """

    def __init__(
        self, shards: Iterable[NewJobs], load: Callable[[int], tuple[RenderJob, ...]]
    ) -> None:
        """Create the list.

        Args:
            shards: the jobs, by shard.
            load: returns the jobs of all cases of a shard.
        """
        self._load = load
        self._window: dict[int, int] = {}
        self._jobs_of_window: dict[int, dict[int, tuple[RenderJob, ...]]] = {}
        numbers, places = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        filled = sorted((shard for shard in shards if len(shard.places)), key=_largest_first)
        for number, window in enumerate(_windows(filled)):
            self._window.update((part.shard, number) for part in window)
            own = np.repeat([part.shard for part in window], [len(part.places) for part in window])
            order = np.argsort(-np.concatenate([part.sizes for part in window]), kind="stable")
            numbers.append(own[order].astype(np.int32))
            places.append(np.concatenate([part.places for part in window])[order].astype(np.int32))
        self._shard: NDArray[np.int32] = np.concatenate(numbers)
        self._place: NDArray[np.int32] = np.concatenate(places)

    def __len__(self) -> int:
        return len(self._shard)

    @overload
    def __getitem__(self, place: int) -> RenderJob: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[RenderJob]: ...

    def __getitem__(self, place: int | slice) -> RenderJob | Sequence[RenderJob]:
        if isinstance(place, slice):
            part = copy(self)
            part._shard, part._place = self._shard[place], self._place[place]  # noqa: SLF001
            return part
        return self.of_shard(int(self._shard[place]))[int(self._place[place])]

    def of_shard(self, number: int) -> tuple[RenderJob, ...]:
        """Return the jobs of all cases of a shard; those of recent windows stay in memory."""
        window = self._window[number]
        shard_jobs = self._jobs_of_window.pop(window, {})
        self._jobs_of_window[window] = shard_jobs
        while len(self._jobs_of_window) > _WINDOWS:
            del self._jobs_of_window[next(iter(self._jobs_of_window))]
        if number not in shard_jobs:
            shard_jobs[number] = self._load(number)
        return shard_jobs[number]


def _largest_first(shard: NewJobs) -> int:
    return -int(np.max(shard.sizes))


def _windows(shards: Sequence[NewJobs]) -> Iterator[list[NewJobs]]:
    window: list[NewJobs] = []
    for shard in shards:
        window.append(shard)
        if sum(part.cases for part in window) >= _WINDOW:
            yield window
            window = []
    if window:
        yield window
