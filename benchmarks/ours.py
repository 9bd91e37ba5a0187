"""The render stage as a build runs it: digests of raw files, every slice, the rows of the cache.

DATA is a ``.nii.gz``, an image, a ``.dcm`` or a folder of the files of one series.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import timing

from medrcube.build.execution.local import LocalEngine
from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.incremental.file_states import snapshot
from medrcube.build.readers.detect_format import content_of, module_of
from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.facts import Case, ImageRef, MaskFile, Region
from medrcube.sources._framework.card_parts.pixels import PixelPolicy
from medrcube.sources.registry import find_sources, get_source

_SOURCE = get_source(find_sources(), "nih-chestxray14")


def job_of(
    data: Path,
    name: str = "case",
    slices: str = "all",
    marks: Path | None = None,
    *,
    window: str = "",
    colour: str = "keep",
) -> RenderJob:
    """A job of one image: every slice, or what another slice policy says.

    With a file of marks there is a region, outlined and boxed beside the clean image. Without a
    window it has the one that its kind of file has here.
    """
    paths = tuple(sorted(data.iterdir())) if data.is_dir() else (data,)
    windows = {".gz": "ct:mediastinum", ".nii": "ct:mediastinum", ".jpg": "none"}
    region = Region(
        field="region", value="mark", shape=MaskFile(paths=(marks or data,)), evidence=""
    )
    regions = (region,) if marks else ()
    kinds = ("outline", "boxes") if marks else ()
    return RenderJob(
        source="benchmark",
        folder=_SOURCE.folder,
        root=paths[0].parents[1 + data.is_dir()],
        case=Case(key=name, images=(ImageRef(paths=paths),), regions=regions),
        concepts=tuple("mark" for _ in regions),
        policy=PixelPolicy(
            window=window or windows.get(data.suffix, "header"),
            slice=slices,
            plane="axial",
            orient="affine",
            spacing="header",
            colour=colour,
        ),
        plane="axial",
        artefacts=(
            Artefact(kind="clean"),
            *(Artefact(kind=kind, field="region", concept="mark") for kind in kinds),
        ),
        name=name,
    )


def load_source() -> None:
    """Import what the source of the jobs brings along, as a worker does once."""
    _SOURCE.find_hook("read")


def readers_of(data: Path, marks: Path | None = None) -> tuple[str, ...]:
    """Readers that the data need, as ``dispatch.module_of`` names them."""
    series = ("series",) if data.is_dir() else ()
    files = (next(data.iterdir()) if data.is_dir() else data, marks)
    return (*series, *(content_of(path) for path in files if path is not None))


def render(jobs: Sequence[RenderJob], out: Path, workers: int) -> int:
    """Render jobs as the build does and keep their rows; returns the number of images."""
    pictures = 0
    trees = {job.root: snapshot(job.root) for job in jobs}
    with BuildCache(out / "cache" / "build.sqlite3") as cache:
        for job, rendered in LocalEngine(workers).run(jobs, out / "images"):
            if any(problem.stage == "render" for problem in rendered.problems):
                sys.exit(f"{job.name}: {rendered.problems[0].message}")
            cache.keep(job, rendered, trees[job.root], out / "images")
            pictures += len(rendered.pictures)
    return pictures


def main() -> None:
    parser = timing.arguments()
    parser.add_argument("--slices", default="all", help="slice policy of the card")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--marks", type=Path, help="mask of a region to draw")
    args = parser.parse_args()
    load_source()
    for reader in readers_of(args.data, args.marks):  # no peer's imports are timed either
        module_of(reader)
    jobs = [job_of(args.data, f"case{k}", args.slices, args.marks) for k in range(args.batch)]
    timing.measure(args, lambda: render(jobs, args.out, args.workers))


if __name__ == "__main__":
    main()
