"""Columns of a long table in blocks of rows, each in memory or in a temporary file.

The texts of a sample take 300 bytes, and a build needs few columns at a time. Blocks are therefore
written to a file that has no name, so that a killed build leaves none, and columns are read back
when they are used.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from medrcube.errors import WorkspaceError

__all__ = ["ColumnBlocks", "MemoryBlock", "Spool", "SpoolRange", "pack_table", "spool_tables"]

_ROWS = 8_192
"""Rows in a block, or a little more."""


class Spool:
    """A temporary file for results that are needed later; use as a context manager.

    Raises:
        WorkspaceError: the file cannot be created or written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with self._explained():
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- closed by __exit__
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, packed: bytes) -> SpoolRange:
        """Write some bytes, and return what reads them back."""
        with self._explained():
            self._file.seek(self._end)
            self._file.write(packed)
            self._file.flush()
        start, self._end = self._end, self._end + len(packed)
        return SpoolRange(self, start, len(packed))

    def read(self, start: int, size: int) -> bytes:
        """Return the bytes at a place of the file."""
        with self._explained():
            self._file.seek(start)
            return self._file.read(size)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise WorkspaceError(
                f"{self._folder}: a temporary file of the build cannot be used ({error}); is the "
                "folder writable and the disk not full?"
            ) from error


@dataclass(frozen=True, slots=True)
class SpoolRange:
    """Bytes in a spool."""

    spool: Spool
    start: int
    size: int

    def read(self) -> bytes:
        """Return the bytes."""
        return self.spool.read(self.start, self.size)


class Block(Protocol):
    """Some consecutive rows of a table."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        ...

    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        """Return the named columns, or all."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryBlock:
    """A block in memory."""

    table: pa.Table

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        """Return the named columns, or all."""
        return self.table if names is None else self.table.select(list(names))


@dataclass(frozen=True, slots=True)
class _SpoolBlock:
    """A block in a spool, as an Arrow stream."""

    packed: SpoolRange
    schema: pa.Schema
    rows: int

    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        numbers = None if names is None else [self.schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=numbers)
        with pa.ipc.open_stream(self.packed.read(), options=options) as stream:
            table = stream.read_all()
        return table if names is None else table.select(list(names))


class ColumnBlocks:
    """Columns in blocks of rows.

    Attributes:
        schema: the columns.
        blocks: the rows, in order.
        num_rows: number of all rows.
    """

    def __init__(self, schema: pa.Schema, blocks: Sequence[Block]) -> None:
        self.schema = schema
        self.blocks = tuple(blocks)
        self._ends = np.cumsum([block.rows for block in self.blocks], dtype=np.int64)
        self.num_rows = int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        chunks = (chunk for block in self.blocks for chunk in block.read([name])[name].chunks)
        return pa.chunked_array(list(chunks), self.schema.field(name).type)

    def tables(self, rows: int, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the named columns, or all, with this many rows at a time; the last has the rest."""
        waiting: list[pa.Table] = []
        for block in self.blocks:
            waiting.append(block.read(names))
            if sum(part.num_rows for part in waiting) < rows:
                continue
            joined = pa.concat_tables(waiting)
            whole = joined.num_rows // rows * rows
            yield from (joined.slice(first, rows) for first in range(0, whole, rows))
            waiting = [joined.slice(whole)]
        if any(part.num_rows for part in waiting):
            yield pa.concat_tables(waiting)

    def take(self, rows: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], pa.Table]]:
        """Yield positions in ``rows`` with the rows at these positions, block by block."""
        numbers = np.searchsorted(self._ends, rows, "right")
        for number in np.unique(numbers).tolist():
            block = self.blocks[number]
            places = np.flatnonzero(numbers == number)
            first = int(self._ends[number]) - block.rows
            yield places, block.read().take(pa.array(rows[places] - first))


def spool_tables(schema: pa.Schema, tables: Iterable[pa.Table], spool: Spool) -> ColumnBlocks:
    """Write tables to a spool, several small ones in one block."""
    blocks: list[_SpoolBlock] = []
    waiting: list[pa.Table] = []

    def write() -> None:
        joined = pa.concat_tables(waiting)
        packed = spool.add(pack_table(joined))
        blocks.append(_SpoolBlock(packed, schema, int(joined.num_rows)))
        waiting.clear()

    for table in tables:
        waiting.append(table)
        if sum(part.num_rows for part in waiting) >= _ROWS:
            write()
    if any(part.num_rows for part in waiting):
        write()
    return ColumnBlocks(schema, blocks)


def pack_table(table: pa.Table) -> Any:
    """Return a table as an Arrow stream of one batch."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.unify_dictionaries().combine_chunks())
    return sink.getvalue()
