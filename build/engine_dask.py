"""Jobs on a dask.distributed cluster; the pictures go through a file system that all share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import Client, KilledWorker, LocalCluster, as_completed

from medrcube import __version__
from medrcube.build.engine import worker_died
from medrcube.build.plan import Job
from medrcube.build.render import Rendered, render_job
from medrcube.errors import MedrcubeError

_AHEAD = 4
"""Jobs handed out for each thread: enough to keep it busy, few enough to bound memory."""

_PATIENCE = 60
"""Seconds to wait for a scheduler and its first worker."""


@dataclass(frozen=True, slots=True)
class DaskEngine:
    """A cluster that runs already, or a local one of ``workers`` processes; see ``Engine``.

    A job whose worker dies is given to another one; after ``distributed``'s own limit of
    failures (four by default) it becomes a problem with the code ``worker-died``.

    Attributes:
        scheduler: address such as ``tcp://host:8786``, or ``None`` for a local cluster.
        workers: processes of a local cluster.
    """

    scheduler: str | None
    workers: int

    def run(self, jobs: Sequence[Job], images: Path) -> Iterator[tuple[Job, Rendered]]:
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
            waiting = iter(jobs)
            running: dict[Any, Job] = {}
            done = as_completed()
            for job in _take(waiting, _AHEAD * sum(client.nthreads().values())):
                _submit(client, job, images, running, done)
            for future in done:
                job = running.pop(future.key)
                yield job, _result(future, job)
                future.release()
                for following in _take(waiting, 1):
                    _submit(client, following, images, running, done)

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


def _submit(client: Client, job: Job, images: Path, running: dict[Any, Job], done: Any) -> None:
    future = client.submit(render_job, job, images, pure=False)
    running[future.key] = job
    done.add(future)


def _result(future: Any, job: Job) -> Rendered:
    try:
        rendered: Rendered = future.result()
    except KilledWorker:
        return worker_died(job)
    return rendered


def _take(waiting: Iterator[Job], count: int) -> Iterator[Job]:
    for _, job in zip(range(count), waiting, strict=False):
        yield job


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
