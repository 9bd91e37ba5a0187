"""Column storage for records of plain values, in a fraction of the memory of objects.

Strings with few distinct values in a table, such as the modality, are stored once in each part of
the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from medrcube.build.column_blocks import ColumnBlocks, MemoryBlock, Spool, pack_table, spool_tables
from medrcube.build.record_tables import column_types, records_to_frame

__all__ = ["ColumnLayout", "RecordTable"]

Record = TypeVar("Record")

_ROWS = 4_096
"""Records converted to objects at a time during iteration."""

_TYPES = {"str": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}


class ColumnLayout(Generic[Record]):
    """Column layout of one record type, in memory and in its Parquet file.

    Attributes:
        record: the record type.
        schema: schema in memory and in the build cache.
        file_schema: schema of the Parquet file, as pandas writes it.
    """

    def __init__(self, record: type[Record], distinct: Collection[str]) -> None:
        """Derive the layout from the attributes of a record type.

        Args:
            record: a dataclass of plain values.
            distinct: string attributes that differ from record to record; the others are
                dictionary-encoded.
        """
        self.record = record
        types = column_types(record)
        shared = pa.dictionary(pa.int32(), pa.string())
        self.schema = pa.schema(
            (name, shared if kind == "str" and name not in distinct else _TYPES[kind])
            for name, kind in types.items()
        )
        self.file_schema = pa.Schema.from_pandas(records_to_frame((), types), preserve_index=False)

    def table(self, records: Iterable[Record]) -> RecordTable[Record]:
        """Return the records as a table of one part."""
        records = list(records)
        columns = [
            pa.array([getattr(record, name) for record in records], kind)
            for name, kind in zip(self.schema.names, self.schema.types, strict=True)
        ]
        return self._to_memory(pa.Table.from_arrays(columns, schema=self.schema))

    def join(self, tables: Sequence[RecordTable[Record]]) -> RecordTable[Record]:
        """Concatenate tables without copying rows."""
        blocks = [block for table in tables for block in table.columns.blocks]
        return RecordTable(self, ColumnBlocks(self.schema, blocks))

    def spool(self, tables: Iterable[RecordTable[Record]], spool: Spool) -> RecordTable[Record]:
        """Concatenate tables in a spool, from which rows and columns are read when needed."""
        parts = (block.read() for table in tables for block in table.columns.blocks)
        return RecordTable(self, spool_tables(self.schema, parts, spool))

    def unpack(self, packed: bytes) -> RecordTable[Record]:
        """Inverse of ``RecordTable.pack``.

        Raises:
            ValueError: the bytes hold no such table.
        """
        try:
            with pa.ipc.open_stream(packed) as stream:
                columns = stream.read_all()
            columns.validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"no table of {self.record.__name__}: {error}") from error
        if columns.schema != self.schema:
            raise ValueError(f"no table of {self.record.__name__}: its columns are others")
        return self._to_memory(columns)

    def _to_memory(self, table: pa.Table) -> RecordTable[Record]:
        return RecordTable(self, ColumnBlocks(self.schema, [MemoryBlock(table)]))


class RecordTable(Sequence[Record]):
    """Sequence of records stored as columns; each record is created on access.

    Attributes:
        columns: the columns, with the schema ``ColumnLayout.schema``.
    """

    def __init__(self, layout: ColumnLayout[Record], columns: ColumnBlocks) -> None:
        self._layout = layout
        self.columns = columns

    def __len__(self) -> int:
        return self.columns.num_rows

    @overload
    def __getitem__(self, place: int) -> Record: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...

    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        if isinstance(place, slice):
            return self.rows(range(len(self))[place])
        return self.rows([range(len(self))[place]])[0]

    def __iter__(self) -> Iterator[Record]:
        for part in self.columns.tables(_ROWS):
            yield from self._records(part)

    def rows(self, places: Sequence[int] | NDArray[Any]) -> list[Record]:
        """Return the records in these rows, in the given order."""
        rows = np.asarray(places, np.int64)
        records: dict[int, Record] = {}
        for positions, part in self.columns.take(rows):
            records.update(zip(positions.tolist(), self._records(part), strict=True))
        return [records[position] for position in range(len(rows))]

    def where(self, column: str, values: Collection[str]) -> list[Record]:
        """Return the records whose string in a column is one of ``values``, in table order."""
        value_set = pa.array(sorted(values), pa.string())
        mask = pc.is_in(self.columns[column].cast(pa.string()), value_set)
        return self.rows(np.flatnonzero(np.asarray(mask)))

    def pack(self) -> bytes:
        """Serialise the table; ``ColumnLayout.unpack`` is the inverse."""
        parts = [block.read() for block in self.columns.blocks]
        return bytes(pack_table(pa.concat_tables([self.columns.schema.empty_table(), *parts])))

    def write(self, path: Path, *, rows: int) -> None:
        """Write the table as Parquet, one row group of ``rows`` rows after another."""
        schema = self._layout.file_schema
        with pq.ParquetWriter(path, schema) as writer:
            parts = self.columns.tables(rows) if len(self) else [self.columns.schema.empty_table()]
            for part in parts:
                plain = part.cast(pa.schema(list(schema)))
                writer.write_table(plain.replace_schema_metadata(schema.metadata))

    def _records(self, columns: pa.Table) -> list[Record]:
        values = (column.to_pylist() for column in columns.itercolumns())
        names = columns.column_names
        return [
            self._layout.record(**dict(zip(names, row, strict=True)))
            for row in zip(*values, strict=True)
        ]
