"""The render stage as a build runs it: digests of raw files, every slice, the rows of the cache.

DATA is a ``.nii.gz``, a ``.dcm`` or a folder of the files of one series.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import timing

from medrcube.build.cache import BuildCache
from medrcube.build.engine import LocalEngine
from medrcube.build.plan import Artefact, Job
from medrcube.build.readers import dicom, dicom_series, nifti
from medrcube.records import Case, ImageRef
from medrcube.sources.card import PixelPolicy
from medrcube.sources.registry import find_sources, get_source

READERS = (dicom, dicom_series, nifti)
"""Loaded here because the build loads each on first use; a peer's imports are not timed either."""
_SOURCE = get_source(find_sources(), "nih-chestxray14")


def job_of(data: Path, name: str = "case", slices: str = "all") -> Job:
    """A job of one image: every slice, or what another slice policy says."""
    paths = tuple(sorted(data.iterdir())) if data.is_dir() else (data,)
    window = "ct:mediastinum" if ".nii" in data.name else "header"
    return Job(
        source="benchmark",
        folder=_SOURCE.folder,
        root=paths[0].parent,
        case=Case(key=name, images=(ImageRef(paths=paths),)),
        concepts=(),
        policy=PixelPolicy(
            window=window,
            slice=slices,
            plane="axial",
            orient="affine",
            spacing="header",
            colour="keep",
        ),
        plane="axial",
        artefacts=(Artefact(kind="clean"),),
        name=name,
    )


def render(jobs: Sequence[Job], out: Path, workers: int) -> int:
    """Render jobs as the build does and keep their rows; returns the number of pictures."""
    pictures = 0
    with BuildCache(out / "cache" / "build.sqlite3") as cache:
        for job, rendered in LocalEngine(workers).run(jobs, out / "images"):
            if rendered.problems:
                sys.exit(f"{job.name}: {rendered.problems[0].message}")
            cache.keep(job, rendered)
            pictures += len(rendered.pictures)
    return pictures


def main() -> None:
    parser = timing.arguments()
    parser.add_argument("--slices", default="all", help="slice policy of the card")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    _SOURCE.find_hook("read")
    jobs = [job_of(given.data, f"case{k}", given.slices) for k in range(given.batch)]
    timing.measure(given, lambda: render(jobs, given.out, given.workers))


if __name__ == "__main__":
    main()
