"""Select the items to export: those whose image is present and may be redistributed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from medrcube.console.counts import counted
from medrcube.errors import ReleaseError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.image_files import ImageFile, UnusablePictureError, read_picture

__all__ = ["PRIVATE", "ExportSelection", "items_text", "mark_private", "select_exportable"]

PRIVATE = "PRIVATE.md"
"""Marker file of a folder with restricted images."""

_MARK = """# Private: do not share

This folder holds images whose licences do not permit redistribution.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSelection:
    """Items to export, and what was left out.

    Attributes:
        benchmark: the release.
        items: items with an exportable image, in the order of the release.
        withheld: dataset -> items whose images are present but may not be redistributed.
        absent: dataset -> items whose images are not in this release.
        withdrawn: dataset -> items that the errata of the release withdraw.
        without_options: dataset -> items of other answer forms, which a harness of multiple-choice
            questions cannot score.
        private: whether an item with a restricted image is among ``items``.
    """

    benchmark: Benchmark
    items: tuple[BenchmarkItem, ...]
    withheld: Mapping[str, int]
    absent: Mapping[str, int]
    withdrawn: Mapping[str, int]
    without_options: Mapping[str, int]
    private: bool

    def with_pictures(self) -> Iterator[tuple[BenchmarkItem, ImageFile]]:
        """Each item with its image.

        Raises:
            ReleaseError: an image cannot be read; names it.
        """
        for item in self.items:
            assert item.image is not None  # noqa: S101 - such items are not selected
            try:
                yield item, read_picture(self.benchmark.images, item.image)
            except UnusablePictureError as error:
                raise ReleaseError(f"{item.image}: {error}") from error

    def left_out(self) -> tuple[str, ...]:
        """Sentences on the items left out; empty if none were."""
        sentences = []
        if self.withdrawn:
            sentences.append(
                f"left out {items_text(self.withdrawn)}: withdrawn by the errata of the release"
            )
        if self.without_options:
            sentences.append(
                f"left out {items_text(self.without_options)}: they have no options, and the "
                "harness scores options only; medrcube evaluate  asks them"
            )
        if self.withheld:
            sentences.append(
                f"left out {items_text(self.withheld)}: their images may not be redistributed; "
                "--private includes them, for your own use"
            )
        if self.absent:
            sentences.append(
                f"left out {items_text(self.absent)}: their images are not in this release; "
                "medrcube reconstruct  makes them from your own copy of the data"
            )
        return tuple(sentences)


def select_exportable(benchmark: Benchmark, *, private: bool) -> ExportSelection:
    """Select the items that have options and an image; restricted ones only with ``private``.

    An image with the same bytes as a restricted one is restricted too.

    Raises:
        ReleaseError: no item is left.
    """
    items: list[BenchmarkItem] = []
    digests = benchmark.image_digests
    closed = {digests[item.image] for item in benchmark.items if item.restricted and item.image}
    withheld, absent, withdrawn = Counter[str](), Counter[str](), Counter[str]()
    without_options = Counter[str]()
    for item in benchmark.items:
        if item.name in benchmark.errata:
            withdrawn[item.dataset] += 1
        elif not item.options:
            without_options[item.dataset] += 1
        elif item.image is None or digests[item.image] is None:
            absent[item.dataset] += 1
        elif digests[item.image] in closed and not private:
            withheld[item.dataset] += 1
        else:
            items.append(item)
    selection = ExportSelection(
        benchmark=benchmark,
        items=tuple(items),
        withheld=withheld,
        absent=absent,
        withdrawn=withdrawn,
        without_options=without_options,
        private=any(item.image and digests[item.image] in closed for item in items),
    )
    if not items:
        raise ReleaseError(
            f"{benchmark.root}: no item to export; {'; '.join(selection.left_out())}"
        )
    return selection


def mark_private(out: Path, selection: ExportSelection) -> None:
    """Mark a folder that contains restricted images as private."""
    if selection.private:
        (out / PRIVATE).write_text(_MARK, encoding="utf-8")


def items_text(by_dataset: Mapping[str, int]) -> str:
    """Return the number of items by dataset, in words."""
    counts = ", ".join(f"{name} {count:,}" for name, count in sorted(by_dataset.items()))
    return f"{counted(sum(by_dataset.values()), 'item')} ({counts})"
