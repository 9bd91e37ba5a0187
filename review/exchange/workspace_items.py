"""Items of a workspace as untrusted input, read in chunks.

A table may have been edited by hand or written by another program, so everything that pages, tables
and releases rely on is checked (``item_requirements``), and failing items are refused with reasons.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from django.utils.crypto import salted_hmac
from pyarrow import default_memory_pool
from pyarrow.parquet import ParquetFile, read_table

from medrcube.build.questions.item_table import ChoiceItem, items_from_frame
from medrcube.build.release.review_verdicts import fingerprint, open_fingerprint
from medrcube.build.stages.samples import COLUMNS, Sample
from medrcube.errors import WorkspaceError
from medrcube.review.exchange.item_requirements import item_fault, printable
from medrcube.review.exchange.open_rows import OpenRow, open_rows
from medrcube.review.exchange.sample_table import SampleTable
from medrcube.workspace import WorkspaceFolder

__all__ = ["IncomingItem", "RefusedItem", "WorkspaceItems"]

_ROWS = 1_000
"""Number of table rows in memory at a time."""
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedItem:
    """An item that is refused, with the reason."""

    item: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingItem:
    """A checked item.

    Attributes:
        item: the item as built.
        picture: sample without a mark, or the marked one if no other was made.
        overlay: sample of the same image with its mark, or ``None``.
        asks_mark: whether the question is about the mark.
        fingerprint: hash of its content.
        case_key: keyed hash of its case, which is meaningless outside the queue.
        raw_files: digests of the raw files that contain its image.
    """

    item: ChoiceItem
    picture: Sample
    overlay: Sample | None
    asks_mark: bool
    fingerprint: str
    case_key: str = ""
    raw_files: tuple[str, ...] = ()

    @property
    def target(self) -> Mapping[str, Any] | None:
        """Target of an item without options; else ``None``."""
        return self.item.target if isinstance(self.item, OpenRow) else None

    @property
    def stratum(self) -> str:
        """Stratum for agreement statistics."""
        return f"{self.item.modality} | {self.item.task} | {self.item.strategy}"


class WorkspaceItems:
    """Items of a workspace in table order, read in chunks.

    A workspace may have more items than fit into memory, so none is kept.

    Raises:
        WorkspaceError: a table is missing or cannot be read at all.
    """

    def __init__(self, workspace: WorkspaceFolder) -> None:
        self._workspace = workspace
        ids = pd.Series(list(_ids(workspace)), dtype="str")
        self._count = len(ids)
        self._repeated = set(ids[ids.duplicated()])
        self._pictures = _sample_table(workspace)
        self._files = _raw_files(workspace)

    def __len__(self) -> int:
        return self._count

    def checked(self) -> Iterator[IncomingItem | RefusedItem]:
        """Yield every item or refusal; within a chunk, refusals come first."""
        for part in self._parts():
            fit = []
            for row in part:
                if isinstance(row, RefusedItem):
                    yield row
                elif reason := self._fault(row):
                    yield RefusedItem(item=printable(row.id), reason=reason)
                else:
                    fit.append(row)
            yield from self._incoming(fit)

    def with_ids(self, ids: Container[str]) -> Iterator[IncomingItem]:
        """Yield the items with these ids, which have passed ``checked``."""
        for part in self._parts():
            rows = (row for row in part if isinstance(row, ChoiceItem))
            yield from self._incoming([row for row in rows if row.id in ids])

    def _parts(self) -> Iterator[Sequence[ChoiceItem | RefusedItem]]:
        before = 0
        for part in _table_parts(self._workspace.items, self._workspace):
            yield list(_items(part, before))
            before += len(part)
        if self._workspace.open_items.is_file():
            for part in _table_parts(self._workspace.open_items, self._workspace):
                yield [
                    row
                    if isinstance(row, OpenRow)
                    else RefusedItem(item=printable(row[0]), reason=printable(row[1]))
                    for row in open_rows(part)
                ]

    def _fault(self, item: ChoiceItem) -> str:
        if item.id in self._repeated:
            return "occurs twice in the table"
        return item_fault(item, self._pictures)

    def _incoming(self, items: Sequence[ChoiceItem]) -> Iterator[IncomingItem]:
        for item, samples in zip(items, self._pictures.samples_of(items), strict=True):
            sample, picture = samples.sample, samples.picture
            yield IncomingItem(
                item=item,
                picture=picture,
                overlay=samples.overlay,
                asks_mark=samples.sample is samples.overlay,
                fingerprint=(
                    open_fingerprint(item.open_item, sample)
                    if isinstance(item, OpenRow)
                    else fingerprint(item, sample)
                ),
                case_key=_case_key(picture),
                raw_files=self._files.get(item.sample, self._files.get(picture.id, ())),
            )


def _case_key(sample: Sample) -> str:
    case = f"{sample.source}\0{sample.case}"
    return salted_hmac("medrcube.review.case", case, algorithm="sha256").hexdigest()[:32]


def _raw_files(workspace: WorkspaceFolder) -> dict[str, tuple[str, ...]]:
    """Return the digests of the raw files of each image, without masks and tables.

    Raises:
        WorkspaceError: the recipes cannot be read.
    """
    digests_of: dict[str, tuple[str, ...]] = {}
    same: dict[tuple[str, ...], tuple[str, ...]] = {}
    try:
        with workspace.recipes.open(encoding="utf-8") as lines:
            for line in lines:
                recipe = json.loads(line)
                names = {name for image in recipe["images"] for name in image["files"]}
                digests = tuple(sorted({str(recipe["files"][name]) for name in names}))
                digests_of[str(recipe["sample"])] = same.setdefault(digests, digests)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise WorkspaceError(
            f"{workspace.recipes}: cannot be read ({error!r}); build again:  medrcube build "
            f"{workspace.root}"
        ) from error
    return digests_of


def _table_parts(
    path: Path, workspace: WorkspaceFolder, columns: list[str] | None = None
) -> Iterator[pd.DataFrame]:
    """Yield the chunks of a table, in order."""
    with _reading(path, workspace), ParquetFile(path) as table:
        for part in table.iter_batches(_ROWS, columns=columns, use_threads=False):
            yield part.to_pandas()


def _sample_table(workspace: WorkspaceFolder) -> SampleTable:
    """Read the sample table, storing repeated strings once."""
    path = workspace.samples
    repeated = [name for name, kind in COLUMNS.items() if kind == "str" and name != "id"]
    with _reading(path, workspace):
        table = read_table(path, read_dictionary=repeated, use_threads=False)
    pictures = SampleTable(table.to_pandas())
    del table
    default_memory_pool().release_unused()
    return pictures


@contextmanager
def _reading(path: Path, workspace: WorkspaceFolder) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise WorkspaceError(
            f"{path}: is missing; build first:  medrcube build {workspace.root}"
        ) from None
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{path}: cannot be read ({error}); build again") from error


def _ids(workspace: WorkspaceFolder) -> Iterator[str]:
    tables = [workspace.items]
    if workspace.open_items.is_file():
        tables.append(workspace.open_items)
    for table in tables:
        for part in _table_parts(table, workspace, ["id"]):
            if "id" not in part:
                raise WorkspaceError(
                    f"{table.name}: column 'id' is missing; build the workspace again"
                )
            yield from map(str, part["id"])


def _items(frame: pd.DataFrame, before: int) -> Iterator[ChoiceItem | RefusedItem]:
    """Yield the items of a chunk that has ``before`` rows above it."""
    with suppress(*_MALFORMED):
        yield from items_from_frame(frame)
        return
    # A row is malformed: report it and take the others.
    for number in range(len(frame)):
        try:
            yield from items_from_frame(frame.iloc[[number]])
        except _MALFORMED as error:
            name = printable(str(frame["id"].iloc[number]))
            reason = f"row {before + number}: {printable(str(error))}"
            yield RefusedItem(item=name, reason=reason)
