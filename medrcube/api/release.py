"""A release: its items and images, and evaluation of a model on it."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import pandas as pd
from PIL import Image

from medrcube.api.arguments import flag_of, number_of, path_of, refuse, text_of, texts_of
from medrcube.api.event_loop import Interruption, run_beside_loop
from medrcube.api.notebook import MOST_THUMBNAILS, Thumbnail, summary_html, thumbnail_of
from medrcube.api.run import Run, load_run
from medrcube.console.progress import Reporter
from medrcube.errors import ReleaseError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark, load_benchmark
from medrcube.evaluate.image_files import UnusablePictureError, read_picture
from medrcube.evaluate.models.protocol import Model
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions.conditions import parse_conditions
from medrcube.evaluate.questions.data_agreements import (
    known_cards,
    permitted_sources,
    sends_outside,
    sources_under_agreement,
)
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.questions.selection import ItemFilter
from medrcube.evaluate.runner.progress_line import report_progress
from medrcube.evaluate.runner.run import RunSummary, run_evaluation
from medrcube.evaluate.runner.run_state import OnProgress, RunProgress
from medrcube.release_format.open_rows import open_row
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.layers import using

__all__ = ["ITEM_COLUMNS", "OPEN_ITEM_COLUMNS", "ModelSettings", "Release", "load_release"]

ITEM_COLUMNS = {
    "item": "``DATASET/ID``, unique in the release",
    "dataset": "folder of the source in the release",
    "task": "task that the question belongs to",
    "anatomy": "anatomical region",
    "modality": "imaging modality",
    "question": "the stem",
    "options": "texts of the options, a list in the order shown; empty without options",
    "answer": "text of the right option; without options, a correct reply",
    "key": "letter of the right option; empty without options",
    "image": "path of the image in the release; missing if there is none",
    "present": "whether the image file is present",
    "restricted": "whether the image may not be redistributed",
    "withdrawn": "whether the errata withdraw the item",
    "visible": "whether the image alone shows the answer: yes, partly or no; empty if not stated",
    "block": "items of one block share their options; empty for none",
    "unit": "keyed id of the patient or case; empty if not stated",
}
"""Columns of the table returned by ``Release.items``, with their meaning."""

OPEN_ITEM_COLUMNS = {
    "item": "``DATASET/ID``, as in ``items()``",
    "task": "task that the question belongs to",
    "form": "answer form: option, number, point, box, order or pair",
    "question": "the stem",
    "ask": "further information given to the model, such as the unit; a mapping",
    "truth": "the right answer, and the bar that a reply must reach; a mapping",
    "chance": "share that the best answer given without the image passes, 0 to 1",
    "set": "items that are scored together; empty for none",
    "role": "property that distinguishes the item from the others of its set; empty for none",
}
"""Columns of the table returned by ``Release.open_items``, with their meaning."""

_CONNECTIONS = 32
_MOST_CONNECTIONS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A release that has been read and checked, from ``load_release`` or ``Workspace.release``.

    Attributes:
        path: its folder.
    """

    path: Path
    _benchmark: Benchmark

    def items(self) -> pd.DataFrame:
        """Return all items, one row each, with the columns ``ITEM_COLUMNS``."""
        rows = [self._row(item) for item in self._benchmark.items]
        return pd.DataFrame(rows, columns=list(ITEM_COLUMNS))

    def open_items(self) -> pd.DataFrame:
        """Return the open items (tasks beyond the published cube), one row each.

        The columns are ``OPEN_ITEM_COLUMNS``, which include the bar and the chance level.
        ``items()`` also has a row for each of these items.

        Example:
            >>> import medrcube
            >>> table = medrcube.load_release("demo/release").open_items()
            >>> boxes = table[table["form"] == "box"]
            >>> sorted(boxes["truth"].iloc[0])
            ['box', 'iou', 'size']
        """
        rows = [_open_row(item) for item in self._benchmark.items if item.is_open]
        return pd.DataFrame(rows, columns=list(OPEN_ITEM_COLUMNS))

    def image(self, item: str) -> Image.Image:
        """Return the image of an item as a model sees it, including marks.

        Args:
            item: its name, ``DATASET/ID``.

        Raises:
            ReleaseError: there is no such item, its image is not in this copy of the release, or
                the file is not an image.
        """
        if text_of("item", item) not in self._by_name:
            raise ReleaseError(
                f"{self.path}: has no item {item!r}; expected a name of the column 'item' of "
                "items(), DATASET/ID"
            )
        row = self._by_name[item]
        if row.image is None:
            raise ReleaseError(f"{item}: the release names no image for this item")
        path = self.path / row.image
        if not self._benchmark.has_image(row):
            raise ReleaseError(
                f"{item}: its image {path} is not in this copy; a restricted image is rebuilt from "
                f"your own raw data with  medrcube reconstruct {self.path}"
            )
        try:
            data = read_picture(self._benchmark.images, row.image).data
            with Image.open(io.BytesIO(data)) as image:
                image.load()
                return image
        except (UnusablePictureError, OSError) as error:
            raise ReleaseError(f"{item}: its image {path} cannot be read: {error}") from error

    def evaluate(
        self,
        model: str | Model,
        out: str | Path,
        *,
        settings: ModelSettings | None = None,
        conditions: Iterable[str] = ("full",),
        edition: Release | str | Path | None = None,
        epochs: int = 1,
        limit: int | None = None,
        tasks: Iterable[str] = (),
        anatomies: Iterable[str] = (),
        modalities: Iterable[str] = (),
        datasets: Iterable[str] = (),
        where: str | None = None,
        may_send: Iterable[str] = (),
        max_connections: int | None = None,
        progress: bool = False,
    ) -> Run:
        """Ask a model every question and score the replies, as ``medrcube evaluate`` does.

        Replies are saved as they arrive, so repeating the call resumes an interrupted run. It also
        works in a notebook, where an event loop is already running.

        Args:
            model: ``PROVIDER/NAME``, or an object with the methods of ``Model``.
            out: folder of the run.
            settings: endpoint and generation settings for a model given by name.
            conditions: full, blind, circular, image-swap, reworded, chain or
                ``degraded:OPERATION=SIZE``; one or more. This and every other list of names may
                also be a single string.
            edition: edition of the release with other wordings, for the condition reworded.
            epochs: how often each question is asked.
            limit: number of items to ask, sampled evenly.
            tasks: only items of these tasks.
            anatomies: only items of these anatomical regions.
            modalities: only items of these imaging modalities.
            datasets: only items of these source folders of the release.
            where: only items for which this expression over the item columns is true.
            may_send: sources under a data agreement whose owner allows you to send their images to
                another machine; if the model runs remotely, other sources under an agreement are
                left out.
            max_connections: maximum number of concurrent questions.
            progress: show the progress on standard error.

        Raises:
            MedrcubeError: an argument has a wrong type, is out of range or names something unknown.
            ModelError: the model cannot be used; replies received so far are kept.
            WorkspaceError: no item matches the selection, or the folder belongs to another run.
            ReleaseError: an image changed while the run was under way.

        Warns:
            RuntimeWarning: the run is incomplete: it was stopped, or more than 5 % of its
                questions have no reply.
        """
        with using(self._benchmark.vocabulary):
            return self._evaluate(
                model,
                path_of("out", out),
                settings=settings,
                conditions=texts_of("conditions", conditions),
                edition=None if edition is None else _benchmark_of(edition),
                epochs=number_of("epochs", epochs, 1),
                limit=None if limit is None else number_of("limit", limit, 1),
                choice=ItemFilter(
                    tasks=frozenset(map(Task.parse, texts_of("tasks", tasks))),
                    anatomies=frozenset(map(Anatomy.parse, texts_of("anatomies", anatomies))),
                    modalities=frozenset(map(Modality.parse, texts_of("modalities", modalities))),
                    sources=frozenset(texts_of("datasets", datasets)),
                    where=None if where is None else text_of("where", where),
                ),
                may_send=texts_of("may_send", may_send),
                max_connections=None
                if max_connections is None
                else number_of("max_connections", max_connections, 1, _MOST_CONNECTIONS),
                progress=flag_of("progress", progress),
            )

    def _evaluate(
        self,
        model: str | Model,
        folder: Path,
        *,
        settings: ModelSettings | None,
        conditions: Iterable[str],
        edition: Benchmark | None,
        epochs: int,
        limit: int | None,
        choice: ItemFilter,
        may_send: Iterable[str],
        max_connections: int | None,
        progress: bool,
    ) -> Run:
        if not conditions:
            refuse("conditions", conditions, "at least one condition, such as 'full'")
        if not isinstance(model, str) and not callable(getattr(model, "answer", None)):
            refuse("model", model, "PROVIDER/NAME, or an object with the methods of Model")
        if not isinstance(settings, ModelSettings | None):
            refuse("settings", settings, "medrcube.ModelSettings(...)")
        opened = open_model(model, settings) if isinstance(model, str) else model
        suggested: int | None = getattr(opened, "suggested_connections", None)

        kinds, degradation = parse_conditions(conditions)

        def ask(interruption: Interruption) -> RunSummary:
            with _watch(interruption, displayed=progress) as on_progress:
                return run_evaluation(
                    self._benchmark,
                    opened,
                    folder,
                    conditions=kinds,
                    edition=edition,
                    asking=QuestionSetup(degradation=degradation),
                    epochs=epochs,
                    limit=limit,
                    choice=choice,
                    may_send=self._may_send(may_send, opened),
                    max_connections=max_connections or suggested or _CONNECTIONS,
                    fixed_connections=suggested is not None,
                    on_progress=on_progress,
                )

        summary = run_beside_loop(ask)
        if summary.exit_code:
            why = summary.stopped or "too many questions have no reply or one that was cut off"
            warnings.warn(f"{folder}: incomplete: {why}", RuntimeWarning, stacklevel=3)
        return load_run(folder)

    def _may_send(self, sources: Iterable[str], model: Model) -> frozenset[str]:
        names = list(sources)
        if not names:
            return frozenset()
        folders = permitted_sources(
            names, sources_under_agreement(self._benchmark.items, known_cards())
        )
        return folders if sends_outside(model) else frozenset()

    @cached_property
    def _by_name(self) -> Mapping[str, BenchmarkItem]:
        return {item.name: item for item in self._benchmark.items}

    def _row(self, item: BenchmarkItem) -> tuple[object, ...]:
        options = dict(item.options)
        return (
            item.name,
            item.dataset,
            str(item.task),
            str(item.parts),
            str(item.modality),
            item.question,
            list(options.values()),
            item.right_answer,
            item.key,
            item.image,
            self._benchmark.has_image(item),
            item.restricted,
            item.name in self._benchmark.errata,
            item.visible,
            item.block,
            item.unit,
        )

    def __repr__(self) -> str:
        return f"Release(name={self.path.name!r}, items={len(self._benchmark.items)})"

    def _repr_html_(self) -> str:
        items = self.items()
        tasks = {item.task for item in self._benchmark.items}
        abbreviations = {str(task): task.abbreviation for task in tasks}
        rows = [
            (
                dataset,
                len(group),
                group["image"].nunique(),
                int(group.loc[~group["present"], "image"].nunique()),
                ", ".join(sorted({abbreviations[task] for task in group["task"]})),
            )
            for dataset, group in items.groupby("dataset", sort=True)
        ]
        columns = ("dataset", "items", "images", "withheld", "tasks")
        note = f"{int(items['withdrawn'].sum()):,} items are withdrawn."
        return summary_html(
            f"Release {self.path.name}: {len(items):,} items",
            columns,
            rows,
            islice(self._thumbnails(), MOST_THUMBNAILS),
            note if items["withdrawn"].any() else "",
        )

    def _thumbnails(self) -> Iterator[Thumbnail]:
        """Yield one thumbnail per dataset, from images that may be redistributed."""
        datasets: set[str] = set()
        for item in self._benchmark.items:
            if item.restricted or item.dataset in datasets or item.image is None:
                continue
            try:
                picture = read_picture(self._benchmark.images, item.image)
            except UnusablePictureError:
                continue
            thumbnail = thumbnail_of(picture.data, f"{item.dataset}: {item.question}")
            if thumbnail is not None:
                datasets.add(item.dataset)
                yield thumbnail


def load_release(path: str | Path) -> Release:
    """Read and check a release written by medrcube, or the published MedRCube release.

    Args:
        path: release folder, with one subfolder containing ``test.json`` per dataset.

    Raises:
        ReleaseError: the folder is not a release, or items break rules; the first errors are
            listed.

    Example:
        >>> import medrcube
        >>> release = medrcube.load_release("demo/release")
        >>> items = release.items()
        >>> name = items.loc[items["dataset"] == "BUSI", "item"].iloc[0]
        >>> release.image(name).format
        'PNG'
    """
    folder = path_of("path", path)
    return Release(folder, load_benchmark(folder))


def _benchmark_of(release: Release | str | Path) -> Benchmark:
    if isinstance(release, Release):
        return release._benchmark  # noqa: SLF001  (of the same class)
    return load_benchmark(path_of("edition", release))


def _open_row(item: BenchmarkItem) -> tuple[object, ...]:
    row = open_row(item)
    return (
        item.name,
        str(item.task),
        *(row[name] for name in ("form", "question", "ask", "truth", "chance")),
        item.set,
        item.role,
    )


@contextmanager
def _watch(interruption: Interruption, *, displayed: bool) -> Iterator[OnProgress]:
    """Yield a progress callback that also attaches the main task of the run on its first call."""
    with report_progress(Reporter()) if displayed else nullcontext(_unwatched) as show:

        def on_progress(progress: RunProgress) -> None:
            interruption.attach()
            show(progress)

        yield on_progress


def _unwatched(_progress: RunProgress) -> None:
    """Ignore progress."""
