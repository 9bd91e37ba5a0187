"""Tasks run by a worker of a cluster: first the proof, then jobs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from distributed import get_worker

from medrcube.build.execution.cluster_proof import Challenge, fault_of_worker
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.render import render_job
from medrcube.build.stages.rendering.rendered_picture import RenderResult

__all__ = ["ClusterJob", "FileStamp", "Refused", "Rendered", "render_portion", "stamps_of"]

FileStamp = tuple[int, int] | None
"""Size and modification time of a file, which a file server reports equally to all machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJob:
    """A job, and the stamps of its files as the client sees them, in the order of ``files``."""

    job: RenderJob
    stamps: tuple[FileStamp, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Results of a task, in the order of its jobs."""

    worker: str
    results: tuple[RenderResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Refusal of a worker to render for this client.

    Attributes:
        worker: its address.
        reason: why, as a clause that follows the address.
        file: the raw file that it sees differently, or ``None``.
    """

    worker: str
    reason: str
    file: Path | None = None


def stamps_of(job: RenderJob) -> tuple[FileStamp, ...]:
    """Return the stamps of the files of a case; ``None`` for a missing one."""
    return tuple(map(_stamp, job.case.files()))


def render_portion(
    challenge: Challenge, jobs: Sequence[ClusterJob], images: Path
) -> Rendered | Refused:
    """Render jobs, if this worker has passed the proof and sees their files as the client does.

    Raises:
        WorkspaceError: an image cannot be written.
    """
    worker = str(get_worker().address)
    if fault := fault_of_worker(challenge):
        return Refused(worker=worker, reason=fault)
    for entry in jobs:
        for path, stamp in zip(entry.job.case.files(), entry.stamps, strict=True):
            if _stamp(path) != stamp and _stamp_now(path) != stamp:
                reason = f"sees another file at {path}, or none"
                return Refused(worker=worker, reason=reason, file=path)
    return Rendered(worker=worker, results=tuple(render_job(entry.job, images) for entry in jobs))


def _stamp(path: Path) -> FileStamp:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def _stamp_now(path: Path) -> FileStamp:
    """Return the stamp on the file server: opening a file refreshes the cache of an NFS client."""
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns
