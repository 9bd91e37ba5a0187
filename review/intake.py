"""What a workspace hands over to the queue: its tables, read with distrust, item by item.

A table may have been edited by hand or made by another program, so everything that pages, tables
and releases rely on is checked (``fitness``), and what fails is refused with a reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from django.utils.crypto import salted_hmac
from pyarrow.parquet import ParquetFile

from medrcube.build.questions.items import Item, items_from_frame
from medrcube.build.reviewed import fingerprint
from medrcube.build.samples import Sample, samples_from_frame
from medrcube.errors import WorkspaceError
from medrcube.review.fitness import fault, printable
from medrcube.workspace import Workspace

__all__ = ["Incoming", "Refused", "WorkspaceItems", "samples_of"]

_ROWS = 1_000
"""Rows of a table in memory at a time."""
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An item that is not taken in, and why."""

    item: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """An item that may be taken in.

    Attributes:
        item: as it was built.
        picture: without a mark, or the marked one where no other was made.
        overlay: the same picture with its mark, or ``None``.
        asks_mark: whether the question is about the mark.
        fingerprint: of what it asks.
        case_key: its case under a keyed name, which says nothing outside the queue.
        raw_files: digests of the raw files that hold its image.
    """

    item: Item
    picture: Sample
    overlay: Sample | None
    asks_mark: bool
    fingerprint: str
    case_key: str = ""
    raw_files: tuple[str, ...] = ()

    @property
    def stratum(self) -> str:
        """What agreement is counted by."""
        return f"{self.item.modality} | {self.item.task} | {self.item.strategy}"


class WorkspaceItems:
    """Items of a workspace in the order of their table, a part of the table at a time.

    A workspace may hold more items than memory has room for, so none is kept.

    Raises:
        WorkspaceError: a table is missing or cannot be read at all.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known = Counter(_ids(workspace))
        self._pictures = _Pictures(samples_of(workspace))
        self._files = _raw_files(workspace)

    def __len__(self) -> int:
        return self._known.total()

    def checked(self) -> Iterator[Incoming | Refused]:
        """Every item, or why it is not fit."""
        for row in self._rows():
            if isinstance(row, Refused):
                yield row
                continue
            reason = fault(row, self._pictures.names)
            if self._known[row.id] > 1:
                reason = "stands twice in the table"
            if reason:
                yield Refused(item=printable(row.id), reason=reason)
            else:
                yield self._incoming(row)

    def named(self, wanted: Container[str]) -> Iterator[Incoming]:
        """The items of these ids, which ``checked`` has let pass."""
        for row in self._rows():
            if isinstance(row, Item) and row.id in wanted:
                yield self._incoming(row)

    def _rows(self) -> Iterator[Item | Refused]:
        before = 0
        for part in _columns(self._workspace.items, self._workspace):
            yield from _items(part, before)
            before += len(part)

    def _incoming(self, item: Item) -> Incoming:
        row = self._pictures.of(item)
        held = self._files.get(item.sample, self._files.get(row.picture.id, ()))
        return replace(row, case_key=_case_key(row.picture), raw_files=held)


def samples_of(workspace: Workspace) -> list[Sample]:
    """The pictures of a workspace.

    Raises:
        WorkspaceError: the table is missing or cannot be read at all.
    """
    parts = _columns(workspace.samples, workspace)
    return [sample for part in parts for sample in samples_from_frame(part)]


class _Pictures:
    """Finds the pictures of an item, with and without a mark."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._by_id = {sample.id: sample for sample in samples}
        self._clean = {_view(it): it for it in samples if it.artefact == "clean"}
        self._marked: dict[tuple[object, ...], Sample] = {}
        # An outline shows where a finding is better than numbered boxes, so it comes first.
        for sample in sorted(samples, key=lambda it: (it.artefact != "outline", it.id)):
            if sample.artefact != "clean":
                self._marked.setdefault((*_view(sample), sample.field, sample.marked), sample)

    @property
    def names(self) -> Container[str]:
        return self._by_id

    def of(self, item: Item) -> Incoming:
        sample = self._by_id[item.sample]
        asked = fingerprint(item, sample)
        if sample.artefact == "clean":
            overlay = self._marked.get((*_view(sample), item.field, item.concept))
            return Incoming(
                item=item, picture=sample, overlay=overlay, asks_mark=False, fingerprint=asked
            )
        clean = self._clean.get(_view(sample))
        return Incoming(
            item=item,
            picture=clean or sample,
            overlay=sample if clean else None,
            asks_mark=clean is not None,
            fingerprint=asked,
        )


def _case_key(sample: Sample) -> str:
    told = f"{sample.source}\0{sample.case}"
    return salted_hmac("medrcube.review.case", told, algorithm="sha256").hexdigest()[:32]


def _raw_files(workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """Digests of the raw files of each picture; masks and tables are no source of what it shows.

    Raises:
        WorkspaceError: the recipes cannot be read.
    """
    found: dict[str, tuple[str, ...]] = {}
    same: dict[tuple[str, ...], tuple[str, ...]] = {}
    try:
        with workspace.recipes.open(encoding="utf-8") as lines:
            for line in lines:
                recipe = json.loads(line)
                names = {name for image in recipe["images"] for name in image["files"]}
                digests = tuple(sorted({str(recipe["files"][name]) for name in names}))
                found[str(recipe["sample"])] = same.setdefault(digests, digests)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise WorkspaceError(
            f"{workspace.recipes}: cannot be read ({error!r}); build again:  medrcube build "
            f"{workspace.root}"
        ) from error
    return found


def _view(sample: Sample) -> tuple[object, ...]:
    """Equal for pictures that differ only in what is drawn on them."""
    return sample.source, sample.case, sample.frames, sample.width, sample.height


def _columns(
    path: Path, workspace: Workspace, columns: list[str] | None = None
) -> Iterator[pd.DataFrame]:
    """Parts of a table, in its order."""
    try:
        with ParquetFile(path) as table:
            for part in table.iter_batches(_ROWS, columns=columns):
                yield part.to_pandas()
    except FileNotFoundError:
        raise WorkspaceError(
            f"{path}: is missing; build first:  medrcube build {workspace.root}"
        ) from None
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{path}: cannot be read ({error}); build again") from error


def _ids(workspace: Workspace) -> Iterator[str]:
    for part in _columns(workspace.items, workspace, ["id"]):
        if "id" not in part:
            raise WorkspaceError("items table: column 'id' is missing; build the workspace again")
        yield from map(str, part["id"])


def _items(frame: pd.DataFrame, before: int) -> Iterator[Item | Refused]:
    """Items of a part of a table that has ``before`` rows above it."""
    with suppress(*_MALFORMED):
        yield from items_from_frame(frame)
        return
    # One row is malformed: the others are taken, it is named.
    for number in range(len(frame)):
        try:
            yield from items_from_frame(frame.iloc[[number]])
        except _MALFORMED as error:
            name = printable(str(frame["id"].iloc[number]))
            reason = f"row {before + number}: {printable(str(error))}"
            yield Refused(item=name, reason=reason)
