"""One build on a cluster: distributes tasks, collects results, sets bad workers aside."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any

from distributed import Client, KilledWorker, as_completed
from distributed.comm import CommClosedError

from medrcube.build.execution.cluster_proof import Challenge, ask_file_server
from medrcube.build.execution.cluster_tasks import (
    ClusterJob,
    Refused,
    Rendered,
    render_portion,
    stamps_of,
)
from medrcube.build.execution.local import worker_died
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.rendered_picture import RenderResult
from medrcube.errors import MedrcubeError

__all__ = ["ClusterRun"]

_AHEAD = 4
"""Tasks in flight for each thread: enough to keep it busy, few enough to bound memory."""

_LEAST_AHEAD = 32
"""Fewest tasks in flight: a cluster that scales by demand has to see some."""

_TOGETHER = 16
"""Most jobs in one task: scheduler and client take about 4 ms for each task, an image of 8 x 8
pixels takes 1."""

_TICK = 0.02
"""Seconds between two checks for finished tasks."""

_LOOK = 1.0
"""Seconds between two checks of the workers."""

_PATIENCE = 900.0
"""Seconds without any worker, for example in a cluster queue, before the build gives up."""

_GRACE = 10.0
"""The same after a worker was set aside, when others may be about to start."""

_DOUBT = 16
"""Cases that a worker may fail without a success, while others succeed."""

_IN_A_ROW = 32
"""Workers set aside in a row without a result, beyond those seen at one time, before the build
gives up: a cluster may start another bad one for each that is closed.
"""

_LATE = (0.0, 0.2, 0.8, 2.0, 4.0)
"""Seconds before retries for an image: a network file system may show it late."""

_RELEASED = "; rendered images are kept: run the same command again once it is up"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """A task in flight, and the number of workers set aside before it was submitted."""

    jobs: Sequence[ClusterJob]
    aside: int


@dataclass(kw_only=True)
class ClusterRun:
    """A build in progress.

    Jobs whose worker dies are given to another one, up to ``distributed``'s own limit of failures
    (four by default). ``distributed`` counts a failure against all jobs that the worker held;
    therefore at the end each of these is tried alone, and one that reaches the limit again becomes
    a problem with the code ``worker-died``.

    Failures of a worker that has not rendered anything yet are held back: another worker retries
    them, unless this one renders something first.

    Attributes:
        client: of the cluster.
        challenge: challenge for each worker.
        images: folder of images.
        tell: called with a line for each worker that is set aside.
    """

    client: Client
    challenge: Challenge
    images: Path
    tell: Callable[[str], object]
    _waiting: deque[Sequence[RenderJob]] = field(default_factory=deque)
    _running: dict[str, _Running] = field(default_factory=dict)
    _suspects: list[RenderJob] = field(default_factory=list)
    _aside: dict[str, str] = field(default_factory=dict)
    _greeted: set[str] = field(default_factory=set)
    _proved: set[str] = field(default_factory=set)
    _held_results: dict[str, list[tuple[RenderJob, RenderResult]]] = field(default_factory=dict)
    _threads: int = 0
    _most_workers: int = 0
    _in_a_row: int = 0
    _looked: float = float("-inf")
    _lonely_since: float | None = None

    def results(self, jobs: Sequence[RenderJob]) -> Iterator[tuple[RenderJob, RenderResult]]:
        """Yield one result for every job, in order of completion.

        Raises:
            MedrcubeError: the scheduler ends, or no worker is left.
            WorkspaceError: an image cannot be written.
        """
        try:
            self._look()
            ahead = max(_LEAST_AHEAD, _AHEAD * self._threads)
            size = min(_TOGETHER, ceil(len(jobs) / ahead))
            self._waiting.extend(jobs[first : first + size] for first in range(0, len(jobs), size))
            yield from self._run_waiting()
            yield from self._run_held()
            for job in self._suspects:
                yield job, self._render_alone(job)
        except (CancelledError, CommClosedError, OSError, TimeoutError) as error:
            address = getattr(self.client.scheduler, "address", "the cluster")
            raise MedrcubeError(
                f"{address}: the dask scheduler has ended or no longer answers{_RELEASED}"
            ) from error

    def _run_waiting(self) -> Iterator[tuple[RenderJob, RenderResult]]:
        completions = as_completed()
        while self._waiting or self._running:
            self._look()
            room = max(_LEAST_AHEAD, _AHEAD * self._threads) - len(self._running)
            for _ in range(min(room, len(self._waiting))):
                self._submit(self._waiting.popleft(), completions)
            if not completions.has_ready():
                time.sleep(_TICK)
                continue
            future = next(completions)
            yield from self._gather(self._running.pop(future.key), future)
            future.release()

    def _submit(self, portion: Sequence[RenderJob], completions: Any) -> None:
        jobs = [ClusterJob(job=job, stamps=stamps_of(job)) for job in portion]
        future = self.client.submit(render_portion, self.challenge, jobs, self.images, pure=False)
        self._running[future.key] = _Running(jobs=jobs, aside=len(self._aside))
        completions.add(future)

    def _gather(self, task: _Running, future: Any) -> Iterator[tuple[RenderJob, RenderResult]]:
        jobs = [entry.job for entry in task.jobs]
        try:
            outcome: Rendered | Refused = future.result()
        except KilledWorker:
            self._suspects.extend(jobs)
            return
        except (AttributeError, ImportError, RuntimeError, TypeError) as error:
            self._looked = float("-inf")
            self._look()
            if len(self._aside) > task.aside:  # it ran on a worker that came before a look at it
                self._waiting.append(jobs)
                return
            raise MedrcubeError(
                f"the cluster cannot load a task ({error.__cause__ or error}); install the same "
                "medrcube[build,dask] for the scheduler and every worker"
            ) from error
        if isinstance(outcome, Refused):
            self._refuse(outcome, task.jobs)
            self._waiting.append(jobs)
            return
        for job, rendered in zip(jobs, outcome.results, strict=True):
            yield from self._judge(outcome.worker, job, rendered)

    def _judge(
        self, worker: str, job: RenderJob, rendered: RenderResult
    ) -> Iterator[tuple[RenderJob, RenderResult]]:
        """Yield the result if it counts; otherwise hold it back or requeue its job."""
        if worker in self._aside:
            self._waiting.append((job,))
        elif not self._arrived(rendered):
            reason = f"writes images that do not arrive in {self.images}"
            self._set_aside(worker, reason)
            self._waiting.append((job,))
        elif worker in self._proved or not rendered.problems:
            self._in_a_row = 0
            if worker not in self._proved:
                self._proved.add(worker)
                yield from self._held_results.pop(worker, ())
            yield job, rendered
        else:
            pending = self._held_results.setdefault(worker, [])
            pending.append((job, rendered))
            if len(pending) >= _DOUBT and self._proved:
                message = rendered.problems[0].message
                self._set_aside(worker, f"failed each of its first {_DOUBT} cases: {message}")

    def _run_held(self) -> Iterator[tuple[RenderJob, RenderResult]]:
        """Yield results of workers that have failed every case, if no other worker does better."""
        for worker, pending in list(self._held_results.items()):
            others = [name for name in self._addresses() if name not in (worker, *self._aside)]
            for job, failed in pending:
                rendered = self._render_alone(job, others) if others else failed
                if not rendered.problems and worker not in self._aside:
                    message = failed.problems[0].message
                    self._set_aside(worker, f"failed every case, which others do not: {message}")
                yield job, rendered

    def _render_alone(self, job: RenderJob, workers: Sequence[str] = ()) -> RenderResult:
        """Return the result of one job run alone."""
        while True:
            entry = ClusterJob(job=job, stamps=stamps_of(job))
            try:
                outcome: Rendered | Refused = self._wait_for(
                    self.client.submit(
                        render_portion,
                        self.challenge,
                        [entry],
                        self.images,
                        pure=False,
                        workers=list(workers) or None,
                        allow_other_workers=bool(workers),
                    )
                )
            except KilledWorker:
                return worker_died(job)
            if isinstance(outcome, Rendered) and self._arrived(outcome.results[0]):
                return outcome.results[0]
            if isinstance(outcome, Refused):
                self._refuse(outcome, [entry])
            else:
                self._set_aside(outcome.worker, "writes images that do not arrive")
            workers = [name for name in workers if name not in self._aside]
            self._look()

    def _wait_for(self, future: Any) -> Any:
        """Return a task's result; workers are counted meanwhile, since the last one may end."""
        while not future.done():
            self._look()
            time.sleep(_TICK)
        return future.result()

    def _arrived(self, rendered: RenderResult) -> bool:
        """Whether the client sees every image of a result."""
        return all(
            _has_size(self.images / picture.path, picture.bytes) for picture in rendered.pictures
        )

    def _refuse(self, refusal: Refused, portion: Sequence[ClusterJob]) -> None:
        """Set aside a worker that refused, unless a file has changed for the client as well."""
        if all(stamps_of(entry.job) == entry.stamps for entry in portion):
            self._set_aside(refusal.worker, refusal.reason)

    def _greet(self, workers: Sequence[str]) -> None:
        """Set aside workers that lack the package, which would fail at the first task."""
        versions = self.client.run(
            metadata.version, "medrcube", workers=list(workers), on_error="return"
        )
        for worker, version in versions.items():
            if isinstance(version, OSError):  # busy, or gone: asked again if it still exists
                self._greeted.discard(worker)
            elif not isinstance(version, str):
                self._set_aside(worker, "has no medrcube; install  medrcube[build,dask]  there")

    def _set_aside(self, worker: str, reason: str) -> None:
        if worker in self._aside:
            return
        self._aside[worker] = reason
        self._in_a_row += 1
        self._waiting.extend((job,) for job, _ in self._held_results.pop(worker, ()))
        self.tell(f"worker {worker} is set aside: it {reason}")
        with suppress(OSError, TimeoutError):
            self.client.retire_workers([worker], close_workers=True, remove=True)
        self._looked = float("-inf")

    def _addresses(self) -> set[str]:
        return set(self.client.scheduler_info(n_workers=-1)["workers"])

    def _look(self) -> None:
        """Count the threads of the workers from time to time.

        Raises:
            MedrcubeError: there has been no worker for too long.
        """
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        threads = self.client.nthreads()
        if new := [worker for worker in threads if worker not in self._greeted]:
            self._greeted.update(new)
            self._greet(new)
            self._looked = now
        self._most_workers = max(self._most_workers, len(threads))
        self._threads = sum(count for worker, count in threads.items() if worker not in self._aside)
        if self._in_a_row > self._most_workers + _IN_A_ROW:
            raise self._nobody_left()
        if self._threads:
            self._lonely_since = None
            return
        if self._lonely_since is None:
            self._lonely_since = now
            self.tell("no worker of the cluster is ready; waiting for one")
        if now - self._lonely_since > (_GRACE if self._aside else _PATIENCE):
            raise self._nobody_left()

    def _nobody_left(self) -> MedrcubeError:
        if not self._aside:
            return MedrcubeError(
                f"no worker came in {_PATIENCE / 60:.0f} minutes; start one with  dask worker"
            )
        reasons = "; ".join(
            f"worker {worker} {reason}" for worker, reason in islice(self._aside.items(), 3)
        )
        return MedrcubeError(f"no worker is left that may render: {reasons}")


def _has_size(path: Path, size: int) -> bool:
    for wait in _LATE:
        time.sleep(wait)
        with suppress(OSError):
            if path.stat().st_size == size:
                return True
            ask_file_server(path.parent)
    return False
