"""Dask render engine; workers write images to a shared file system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any

from distributed import Client, KilledWorker, LocalCluster, as_completed

from medrcube import __version__
from medrcube.build.execution.local import worker_died
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.render import RenderResult, render_job
from medrcube.errors import MedrcubeError

__all__ = ["DaskEngine"]

_AHEAD = 4
"""Tasks handed out for each thread: enough to keep it busy, few enough to bound memory."""

_TOGETHER = 16
"""Most jobs in one task: scheduler and client take about 4 ms for each task, a picture of 8 x 8
pixels takes 1."""

_PATIENCE = 60
"""Seconds to wait for a scheduler and its first worker."""


@dataclass(frozen=True, slots=True)
class DaskEngine:
    """A cluster that runs already, or a local one of ``workers`` processes; see ``Engine``.

    Jobs travel several at a time. Those whose worker dies are given to another one, up to
    ``distributed``'s own limit of failures (four by default). ``distributed`` counts them against
    all jobs that the worker held; so at the end each of those is tried with nothing beside it,
    and one that reaches the limit again becomes a problem with the code ``worker-died``.

    Attributes:
        scheduler: address such as ``tcp://host:8786``, or ``None`` for a local cluster.
        workers: processes of a local cluster.
    """

    scheduler: str | None
    workers: int

    def run(
        self, jobs: Sequence[RenderJob], images: Path
    ) -> Iterator[tuple[RenderJob, RenderResult]]:
        """Render every job into the folder of pictures.

        Raises:
            MedrcubeError: nobody answers at the address, or a worker has another version of
                medrcube or does not see the workspace.
        """
        if not jobs:
            return
        with self._client() as client:
            images.mkdir(parents=True, exist_ok=True)
            _check_workers(client, images)
            ahead = _AHEAD * sum(client.nthreads().values())
            waiting = _portions(jobs, min(_TOGETHER, ceil(len(jobs) / ahead)))
            running: dict[Any, Sequence[RenderJob]] = {}
            suspects: list[RenderJob] = []
            done = as_completed()

            def submit(portion: Sequence[RenderJob]) -> None:
                future = client.submit(_render_portion, portion, images, pure=False)
                running[future.key] = portion
                done.add(future)

            for portion in islice(waiting, ahead):
                submit(portion)
            for future in done:
                portion = running.pop(future.key)
                try:
                    yield from zip(portion, future.result(), strict=True)
                except KilledWorker:
                    suspects.extend(portion)
                future.release()
                for following in islice(waiting, 1):
                    submit(following)
            for job in suspects:
                yield job, _render_alone(client, job, images)

    def _client(self) -> AbstractContextManager[Client]:
        if self.scheduler is None:
            return _local_cluster(self.workers)
        try:
            client = Client(self.scheduler, timeout=_PATIENCE)
            client.wait_for_workers(1, timeout=_PATIENCE)
        except (OSError, TimeoutError, ValueError) as error:
            raise MedrcubeError(
                f"{self.scheduler}: no dask scheduler with a worker answers ({error}); start one "
                "with  dask scheduler  and  dask worker  and give its address"
            ) from error
        return client  # type: ignore[no-any-return]


@contextmanager
def _local_cluster(workers: int) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _portions(jobs: Sequence[RenderJob], size: int) -> Iterator[Sequence[RenderJob]]:
    for first in range(0, len(jobs), size):
        yield jobs[first : first + size]


def _render_alone(client: Client, job: RenderJob, images: Path) -> RenderResult:
    try:
        rendered: RenderResult = client.submit(render_job, job, images, pure=False).result()
    except KilledWorker:
        return worker_died(job)
    return rendered


def _render_portion(jobs: Sequence[RenderJob], images: Path) -> list[RenderResult]:
    return [render_job(job, images) for job in jobs]


def _check_workers(client: Client, images: Path) -> None:
    for address, (version, sees) in client.run(_report, images).items():
        if version != __version__:
            raise MedrcubeError(
                f"worker {address} runs medrcube {version}, this is {__version__}; install the "
                "same version on all machines"
            )
        if not sees:
            raise MedrcubeError(
                f"worker {address} does not see {images}; workspace and raw data must lie on a "
                "file system that all workers share, under the same path"
            )


def _report(images: Path) -> tuple[str, bool]:
    return __version__, images.is_dir()
