"""Dask render engine; workers write images to a shared file system.

A result counts only if the worker has proved that it sees the same files and runs the same code
(``cluster_proof``), and only if the client sees the images. Workers that cannot prove it are set
aside, by name, and their jobs are given to others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from distributed import Client, LocalCluster

from medrcube.build.execution.cluster_proof import challenge_workers
from medrcube.build.execution.cluster_run import ClusterRun
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.rendered_picture import RenderResult
from medrcube.errors import MedrcubeError

__all__ = ["DaskEngine"]

_PATIENCE = 60
"""Seconds to wait for a scheduler."""


def _tell_nobody(_note: str, /) -> None:
    pass


@dataclass(frozen=True, slots=True)
class DaskEngine:
    """An existing cluster, or a local one of ``workers`` processes; see ``RenderEngine``.

    Attributes:
        scheduler: address such as ``tcp://host:8786``, or ``None`` for a local cluster.
        workers: processes of a local cluster.
        tell: called with a line for each worker that is set aside, and if there is none.
    """

    scheduler: str | None
    workers: int
    tell: Callable[[str], object] = _tell_nobody

    def run(
        self, jobs: Sequence[RenderJob], images: Path
    ) -> Iterator[tuple[RenderJob, RenderResult]]:
        """Render every job into the folder of images.

        Raises:
            MedrcubeError: the address does not respond, the scheduler ends, or no worker is left
                that sees the files of the client and runs its code.
        """
        if not jobs:
            return
        with self._client() as client:
            images.mkdir(parents=True, exist_ok=True)
            with challenge_workers(jobs, images) as challenge:
                run = ClusterRun(client=client, challenge=challenge, images=images, tell=self.tell)
                yield from run.results(jobs)

    def _client(self) -> AbstractContextManager[Client]:
        if self.scheduler is None:
            return _local_cluster(self.workers)
        return _connected(self.scheduler)


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    try:
        client = Client(address, timeout=_PATIENCE)
    except TypeError as error:  # raised by distributed on tls:// without certificates
        raise MedrcubeError(
            f"{address}: no certificates are configured ({error}); name them in the environment: "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ..__TLS__CLIENT__CERT, ..__TLS__CLIENT__KEY"
        ) from error
    except RuntimeError as error:  # raised by distributed if the configuration requires encryption
        raise MedrcubeError(
            f"{address}: dask refuses the address ({error}); where encryption is required, give "
            "one that begins with tls://"
        ) from error
    except (OSError, ValueError) as error:
        raise MedrcubeError(
            f"{address}: no dask scheduler answers ({str(error) or 'no answer in time'}); start "
            "one with  dask scheduler  and workers with  dask worker  and give its address; an "
            "address that begins with tls:// needs certificates of one authority on both sides"
        ) from error
    try:
        yield client
    finally:
        client.close(timeout=5)


@contextmanager
def _local_cluster(workers: int) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
