"""Viewer copies: original pixels of the images used by items, for reviewers only.

Made after the items, only for the images that they use, in the folder ``viewer`` of the workspace:
one 16-bit PNG per slice, named by its digest, and ``copies.jsonl`` with their meaning. Existing
copies are reused. Nothing of it enters a release: the folder is readable only by its owner, and no
table of the workspace names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.build.execution.local import LocalEngine
from medrcube.build.execution.progress import Stages
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.samples import Sample
from medrcube.build.viewer.case_copies import (
    FORMAT,
    CopyOrder,
    CopyResult,
    copy_case,
    fault_of,
    plane_path,
)
from medrcube.build.viewer.table import TABLE, read_copies
from medrcube.console.counts import counted, in_bytes
from medrcube.files.atomic import PRIVATE, private_folder, remove_partial_files, write_text
from medrcube.workspace import WorkspaceFolder

__all__ = ["ViewerReport", "update_copies"]

_SAMPLE = re.compile(r'"sample": "(\w+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewerReport:
    """Content of the folder of viewer copies after a build.

    Attributes:
        pictures: number of images that have a copy.
        made: number of copies made now.
        bytes: size of all slices.
        failed: images without a copy, and why.
    """

    pictures: int
    made: int
    bytes: int
    failed: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield the lines that a build displays."""
        if self.pictures:
            yield (
                f"{counted(self.pictures, 'image')} with the original pixels for reviewers "
                f"({self.made:,} new), {in_bytes(self.bytes)} in viewer/"
            )
        yield from self.failed


def update_copies(
    workspace: WorkspaceFolder,
    items: Iterable[ChoiceItem],
    samples: Iterable[Sample],
    recipes: Iterable[str],
    jobs: Mapping[str, Callable[[], Iterable[RenderJob]]],
    *,
    workers: int,
    stages: Stages,
) -> ViewerReport:
    """Make missing copies and delete those that no item needs any more.

    Args:
        workspace: workspace of the images.
        items: all items.
        samples: all images.
        recipes: recipes of all images, one JSON object a line, in texts of whole lines.
        jobs: source that may store more than 8 bits -> function that returns the jobs of its cases;
            called only if a copy is missing.
        workers: processes that read files.
        stages: progress display.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    folder = workspace.viewer
    private_folder(folder)
    remove_partial_files(folder)
    sample_ids = {item.sample for item in items}
    single_images = {
        sample.id: sample for sample in samples if sample.id in sample_ids and _single(sample)
    }
    current = {
        name: row
        for name, row in read_copies(folder).rows.items()
        if name in single_images and _holds(folder, row, single_images[name])
    }
    lacking = {name: sample for name, sample in single_images.items() if name not in current}
    orders = list(_orders(workspace, lacking, recipes, jobs))
    new: dict[str, Mapping[str, Any]] = {}
    failed: list[str] = []
    with stages.stage("viewer copies", len(orders)) as advance:
        for rows, faults in _run(orders, workers):
            new |= {str(row["sample"]): row for row in rows}
            failed += faults
            advance()
    rows = [row for _, row in sorted({**current, **new}.items())]
    lines = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
    write_text(folder / TABLE, lines, mode=PRIVATE)
    sizes = dict(_sizes(folder, {name for row in rows for name in row["slices"]}))
    return ViewerReport(
        pictures=sum(bool(row["slices"]) for row in rows),
        made=sum(bool(row["slices"]) for row in new.values()),
        bytes=sum(sizes.values()),
        failed=tuple(sorted(failed)),
    )


def _single(sample: Sample) -> bool:
    """Whether an image has a single panel; panels side by side have a window each."""
    return "+" not in sample.frames and sample.artefact != "numbered" and not sample.colour


def _holds(folder: Path, row: Mapping[str, Any], sample: Sample) -> bool:
    return (row.get("format"), row.get("recipe")) == (FORMAT, sample.recipe) and all(
        plane_path(folder, name).is_file() for name in row["slices"]
    )


def _lines(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from text.splitlines()


def _orders(
    workspace: WorkspaceFolder,
    lacking: Mapping[str, Sample],
    recipes: Iterable[str],
    jobs: Mapping[str, Callable[[], Iterable[RenderJob]]],
) -> Iterator[CopyOrder]:
    by_case: dict[tuple[str, str], list[Sample]] = {}
    for sample in lacking.values():
        by_case.setdefault((sample.source, sample.case), []).append(sample)
    made_by: dict[str, Mapping[str, Any]] = {}
    for line in _lines(recipes) if lacking else ():
        match = _SAMPLE.search(line)
        if match is not None and match[1] in lacking:
            made_by[match[1]] = json.loads(line)
    for source in sorted({source for source, _ in by_case} & set(jobs)):
        for job in jobs[source]():
            group = by_case.get((source, job.case.key), ())
            if group:
                yield CopyOrder(
                    job=job,
                    samples=tuple(group),
                    recipes=tuple(made_by[sample.id] for sample in group),
                    root=workspace.root,
                    folder=workspace.viewer,
                )


def _run(orders: Sequence[CopyOrder], workers: int) -> Iterator[CopyResult]:
    if workers == 1 or len(orders) < 2:
        yield from map(copy_case, orders)
        return
    with LocalEngine(workers).pool() as pool:
        running = {pool.submit(copy_case, order): order for order in orders}
        for future in as_completed(running):
            try:
                yield future.result()
            except BrokenProcessPool:
                died = "the process that read it was killed; build again"
                yield [], [fault_of(sample, died) for sample in running[future].samples]


def _sizes(folder: Path, names: set[str]) -> Iterator[tuple[str, int]]:
    """Yield the size of each wanted slice; delete the rest."""
    for path in folder.glob("??/*.png"):
        if path.stem in names:
            yield path.stem, path.stat().st_size
        else:
            path.unlink()
