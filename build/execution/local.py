"""Render engines: the ``RenderEngine`` protocol, and a process pool on this machine."""

from __future__ import annotations

import multiprocessing
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from medrcube.build.execution.main_guard import require_main_guard
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.render import render_job
from medrcube.build.stages.rendering.rendered_picture import RenderResult
from medrcube.facts import QuarantineRow

__all__ = ["LocalEngine", "RenderEngine", "worker_died"]


class RenderEngine(Protocol):
    """Runs jobs on some machine.

    ``run`` yields one result for every job, in any order; the result must not depend on the engine,
    the number of workers or the order. If a worker dies, only the job that killed it fails, and
    becomes a problem with the code ``worker-died``.
    """

    def run(
        self, jobs: Sequence[RenderJob], images: Path
    ) -> Iterator[tuple[RenderJob, RenderResult]]:
        """Render every job into the folder of images."""
        ...


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """A pool of processes on this machine; a single worker runs in this process."""

    workers: int

    def run(
        self, jobs: Sequence[RenderJob], images: Path
    ) -> Iterator[tuple[RenderJob, RenderResult]]:
        """Render every job; see ``RenderEngine``."""
        if self.workers == 1:
            for job in jobs:
                yield job, render_job(job, images)
            return
        if not jobs:
            return
        waiting = _JobQueue(jobs)
        suspects: list[RenderJob] = []
        while waiting:
            suspects.extend((yield from self._run_pool(waiting, images)))
        for job in suspects:
            yield job, self._run_alone(job, images)

    def _run_pool(
        self, waiting: _JobQueue, images: Path
    ) -> Generator[tuple[RenderJob, RenderResult], None, list[RenderJob]]:
        """Render jobs until none is waiting or a worker dies; return the jobs then in flight."""
        running: dict[Future[RenderResult], RenderJob] = {}
        with self.pool() as pool:
            while waiting or running:
                # A short queue, so that a worker that dies leaves few suspects.
                while waiting and len(running) < 2 * self.workers:
                    job = waiting.first
                    try:
                        running[pool.submit(render_job, job, images)] = job
                    except BrokenProcessPool:
                        return list(running.values())
                    waiting.start += 1
                ready, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ready:
                    try:
                        result = future.result()
                    except BrokenProcessPool:
                        return list(running.values())
                    yield running.pop(future), result
        return []

    @staticmethod
    def _run_alone(job: RenderJob, images: Path) -> RenderResult:
        """Rerun a job that was in flight when a worker died, so that only the guilty one fails."""
        with LocalEngine(1).pool() as pool:
            try:
                return pool.submit(render_job, job, images).result()
            except BrokenProcessPool:
                return worker_died(job)

    def pool(self) -> ProcessPoolExecutor:
        """The workers; each is started when a job arrives and no other worker is idle."""
        require_main_guard()
        # Forking a process that has threads (ITK, Arrow) can hang; spawning never does.
        return ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn"))


@dataclass(slots=True)
class _JobQueue:
    """The jobs that no worker has yet; each is loaded when a worker is ready for it."""

    jobs: Sequence[RenderJob]
    start: int = 0

    def __len__(self) -> int:
        return len(self.jobs) - self.start

    @property
    def first(self) -> RenderJob:
        """The next job."""
        return self.jobs[self.start]


def worker_died(job: RenderJob) -> RenderResult:
    """Return the result of a job that killed its worker."""
    problem = QuarantineRow(
        source=job.source,
        case=job.case.key,
        stage="render",
        code="worker-died",
        message="the process that decoded this case was killed, by a fault in a decoder or for "
        "lack of memory; look at its raw files",
    )
    return RenderResult(case=job.case.key, problems=(problem,))
