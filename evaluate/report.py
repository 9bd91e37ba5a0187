"""One HTML page for one or several runs, with nothing outside it: no host, no script, no font.

Questions and replies are text of others; the template escapes them, and the page's own content
policy forbids scripts and requests.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import medrcube
from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark import Benchmark, load_benchmark
from medrcube.evaluate.colours import Shade, shade
from medrcube.evaluate.images import UnusablePictureError, read_picture
from medrcube.evaluate.outcomes import Outcome, Result
from medrcube.evaluate.run_folder import (
    now,
    read_manifest,
)
from medrcube.evaluate.runner import FAILURE_GATE
from medrcube.evaluate.scoring import main_results, read_metrics, read_results
from medrcube.files import write_text
from medrcube.taxonomy import Anatomy, Modality, Task

EXAMPLES = 6
LARGEST_EXAMPLE = 1_500_000
"""Bytes of the largest picture that goes into the page."""

_SHOWN_REPLY = 320
_SHOWN_FIRST = (Outcome.WRONG, Outcome.CORRECT)
_SAFE_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A scored run as the page needs it.

    Attributes:
        label: model, and the folder where two runs have one model.
        manifest: what the run was begun with.
        metrics: content of ``metrics.json``.
        results: every scored item.
        digests: SHA-256 of the picture of each item, by item name.
    """

    label: str
    manifest: Mapping[str, Any]
    metrics: Mapping[str, Any]
    results: Sequence[Result]
    digests: Mapping[str, str | None]

    @property
    def incomplete(self) -> bool:
        """Whether too many items have no reply."""
        group = self.metrics["global"]
        return _lost(group) > FAILURE_GATE * int(group["n"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One voxel of a heat map."""

    metrics: Mapping[str, Any]
    shade: Shade


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One item with its picture and what each run answered."""

    result: Result
    picture: str
    replies: Sequence[tuple[str, Result]]


def write_report(runs: Sequence[Path], out: Path, benchmark: Path | None = None) -> None:
    """Write the page.

    Args:
        runs: folders of scored runs, best first or in any order wanted.
        out: the HTML file.
        benchmark: the release, for a few example pictures; restricted ones are never shown.

    Raises:
        WorkspaceError: a folder holds no scored run, or the page cannot be written.
        ReleaseError: the release is broken.
    """
    if not runs:
        raise WorkspaceError("no run to report; expected at least one --out folder of evaluate")
    loaded = _labelled([_load(run) for run in runs], runs)
    release = load_benchmark(benchmark) if benchmark else None
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            runs=loaded,
            one=loaded[0] if len(loaded) == 1 else None,
            one_dataset=len({run.manifest["dataset"]["digest"] for run in loaded}) == 1,
            outcomes=list(Outcome),
            maps=[(run, _heat_maps(run)) for run in loaded],
            anatomies=list(Anatomy),
            slices=_slices(loaded),
            examples=_examples(loaded, release) if release else [],
            made=now(),
            version=medrcube.__version__,
            legend=[(step / 10, shade(step / 10, 0.25)) for step in range(11)],
            gate=FAILURE_GATE,
        )
    )
    write_text(out, page)


def _load(run: Path) -> Run:
    manifest = read_manifest(run)
    results = main_results(read_results(run))
    metrics = read_metrics(run)
    return Run(
        label=str(manifest["model"]["name"]),
        manifest=manifest,
        metrics=metrics,
        results=results,
        digests={result.item.name: result.asked.image_sha256 for result in results},
    )


def _labelled(runs: list[Run], folders: Sequence[Path]) -> list[Run]:
    labels = [run.label for run in runs]
    return [
        Run(
            label=run.label if labels.count(run.label) == 1 else f"{run.label} ({folder.name})",
            manifest=run.manifest,
            metrics=run.metrics,
            results=run.results,
            digests=run.digests,
        )
        for run, folder in zip(runs, folders, strict=True)
    ]


def _heat_maps(run: Run) -> list[tuple[Modality, list[tuple[Task, list[Cell | None]]]]]:
    """For each modality its rows of tasks, a cell or nothing for each region."""
    cells = {
        (voxel["modality"], voxel["task"], voxel["parts"]): Cell(
            metrics=voxel, shade=shade(voxel["accuracy"], voxel["chance"])
        )
        for voxel in run.metrics["voxels"]
    }
    return [
        (
            modality,
            [(task, [cells.get((modality, task, parts)) for parts in Anatomy]) for task in Task],
        )
        for modality in Modality
    ]


def _slices(runs: Sequence[Run]) -> list[tuple[str, str, list[tuple[str, list[tuple[Run, Any]]]]]]:
    """(title, remark, rows) of each table; a row is a group and its numbers in every run."""
    tables = []
    for key, title, remark in _TABLES:
        names = dict.fromkeys(name for run in runs for name in run.metrics["slices"][key])
        rows = [
            (name, [(run, run.metrics["slices"][key].get(name)) for run in runs]) for name in names
        ]
        tables.append((title, remark, rows))
    return tables


_PUBLISHED = "as in the published table, without View and Imaging Protocols Recognition"
_TABLES = (
    ("task", "Task", ""),
    ("level", "Tier of task", "low: what is seen; mid: where; high: what it means"),
    ("modality", "Modality", ""),
    ("parts", "Region", ""),
    ("modality_as_published", "Modality, published margins", _PUBLISHED),
    ("parts_as_published", "Region, published margins", _PUBLISHED),
    ("dataset", "Source", ""),
)


def _examples(runs: Sequence[Run], release: Benchmark) -> list[Example]:
    """A few items with their pictures: each modality in turn, wrong and right ones mixed."""
    first = runs[0]
    others = [(run.label, {r.item.name: r for r in run.results}) for run in runs]
    examples: list[Example] = []
    for result in _in_turn(first.results):
        picture = _picture(result, first, release)
        if picture is not None:
            name = result.item.name
            replies = [(label, found[name]) for label, found in others if name in found]
            examples.append(Example(result=result, picture=picture, replies=replies))
        if len(examples) == EXAMPLES:
            break
    return examples


def _in_turn(results: Sequence[Result]) -> Iterator[Result]:
    """Results that may be shown: modalities take turns, and within each the outcomes do."""
    queues: dict[tuple[Modality, Outcome], list[Result]] = {}
    for result in results:
        if not result.item.restricted and result.outcome is not Outcome.MISSING_IMAGE:
            queues.setdefault((result.item.modality, result.outcome), []).append(result)
    for turn in range(len(results)):
        outcome = list(Outcome)[turn % len(Outcome)]
        for shift, modality in enumerate(Modality):
            other = _SHOWN_FIRST[(turn + shift) % 2] if turn < 2 else outcome
            queue = queues.get((modality, other))
            if queue:
                yield queue.pop(0)


def _picture(result: Result, run: Run, release: Benchmark) -> str | None:
    """The picture as a data URI, if it is the one that the run showed and may be shown again."""
    path = release.path(result.item)
    if path is None:
        return None
    try:
        picture = read_picture(path)
    except UnusablePictureError:
        return None
    same = picture.sha256 == run.digests[result.item.name]
    if not same or len(picture.data) > LARGEST_EXAMPLE or picture.media_type not in _SAFE_PICTURES:
        return None
    data = base64.b64encode(picture.data).decode("ascii")
    return f"data:{picture.media_type};base64,{data}"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("medrcube.templates", "cards"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = _percent
    environment.filters["clip"] = _clip
    environment.filters["lost"] = _lost
    environment.filters["count"] = lambda value: f"{value:,}"
    return environment


def _lost(group: Mapping[str, Any]) -> int:
    """Questions of a group that got no reply."""
    return int(group["outcomes"][Outcome.FAILED] + group["outcomes"][Outcome.MISSING_IMAGE])


def _percent(value: float | None, digits: int = 1) -> str:
    return "\u2013" if value is None else f"{100 * value:.{digits}f}"


def _clip(text: str | None) -> str:
    text = " ".join((text or "").split())
    return text if len(text) <= _SHOWN_REPLY else text[:_SHOWN_REPLY].rstrip() + " \u2026"
