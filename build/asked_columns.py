"""Question table: stores questions as columns of kind number and image row.

Most questions differ from others only in their image. A question is therefore stored as two
integers: the number of its kind (all its attributes except the image) and the row of its image.
Each kind is stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from medrcube.build.incremental.result_cache import dump_record, parse_record
from medrcube.build.record_columns import RecordTable
from medrcube.build.stages.samples import Sample

__all__ = ["AskedTable", "PackedQuestions", "pack_questions"]

Question = TypeVar("Question")

_IMAGE = "sample"
"""Attribute of a question that holds its image."""

_PLAIN = (str, int, float, bool, Enum, type(None))

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedQuestions:
    """Questions about the images of one shard, in the form stored in the build cache.

    Attributes:
        kinds: attributes of the questions except the image, one record for each kind.
        rows: kind number and image row of each question, as pairs of 32-bit integers.
    """

    kinds: tuple[bytes, ...]
    rows: bytes

    def sharing(self, records: dict[bytes, bytes]) -> PackedQuestions:
        """Deduplicate question kinds across shards; ``records`` caches them."""
        return replace(self, kinds=tuple(records.setdefault(kind, kind) for kind in self.kinds))


def pack_questions(questions: Iterable[Any], rows: Mapping[str, int]) -> PackedQuestions:
    """Pack questions into columns.

    Args:
        questions: records of one type that have a ``sample``.
        rows: sample id -> row of the sample.
    """
    packed_kinds: dict[tuple[object, ...], tuple[int, tuple[Any, ...]]] = {}
    kinds: dict[bytes, int] = {}
    pairs: list[tuple[int, int]] = []
    names: tuple[str, ...] = ()
    for question in questions:
        names = names or _names(type(question))
        values = tuple(getattr(question, name) for name in names)
        # ``known`` keeps a reference to each value, so that no ``id()`` is reused for another one.
        alike = tuple(value if isinstance(value, _PLAIN) else id(value) for value in values)
        if alike not in packed_kinds:
            record = dump_record(values)
            packed_kinds[alike] = kinds.setdefault(record, len(kinds)), values
        pairs.append((packed_kinds[alike][0], rows[question.sample.id]))
    return PackedQuestions(kinds=tuple(kinds), rows=np.array(pairs, "<i4").tobytes())


class AskedTable(Sequence[Question], Generic[Question]):
    """Questions about the images of a table; each record is created on access.

    Attributes:
        samples: the images.
        names: names of the attributes of a question, except the image.
        kinds: attribute values of each kind, in the order of ``names``.
        kind: kind number of each question.
        row: image row of each question.
    """

    def __init__(
        self,
        question: Callable[..., Question],
        samples: RecordTable[Sample],
        kinds: Sequence[tuple[Any, ...]],
        numbers: Numbers,
    ) -> None:
        """Create the table from its columns.

        Args:
            question: type of the records.
            samples: the images.
            kinds: see the attribute ``kinds``.
            numbers: ``kind`` and ``row`` of each question.
        """
        self._question = question
        self.samples = samples
        self.names = _names(cast("type", question))
        self.kinds = kinds
        self.kind: Numbers = np.ascontiguousarray(numbers[:, 0])
        self.row: Numbers = np.ascontiguousarray(numbers[:, 1])

    @classmethod
    def unpack(
        cls,
        question: Callable[..., Question],
        samples: RecordTable[Sample],
        parts: Iterable[tuple[PackedQuestions, int]],
    ) -> AskedTable[Question]:
        """Unpack the questions of all shards into one table.

        Args:
            question: type of the records.
            samples: all images.
            parts: packed questions of each shard, and the row of its first image.

        Raises:
            pickle.UnpicklingError: a part is damaged.
            ValueError: the same.
            IndexError: the same.
        """
        numbers: dict[bytes, int] = {}
        columns: list[Numbers] = [np.empty((0, 2), np.int32)]
        for packed, first in parts:
            own = [numbers.setdefault(record, len(numbers)) for record in packed.kinds]
            pairs = np.frombuffer(packed.rows, "<i4").reshape(-1, 2)
            kinds = np.array(own, np.int32)[pairs[:, 0]]
            columns.append(np.column_stack((kinds, pairs[:, 1] + np.int32(first))))
        kinds_said = [parse_record(record) for record in numbers]
        return cls(question, samples, kinds_said, np.concatenate(columns))

    @classmethod
    def join(
        cls,
        question: Callable[..., Question],
        samples: RecordTable[Sample],
        tables: Sequence[AskedTable[Question]],
    ) -> AskedTable[Question]:
        """Concatenate tables whose images follow each other in ``samples``."""
        columns: list[Numbers] = [np.empty((0, 2), np.int32)]
        kinds: list[tuple[Any, ...]] = []
        first = 0
        for table in tables:
            shifted = (table.kind + np.int32(len(kinds)), table.row + np.int32(first))
            columns.append(np.column_stack(shifted))
            kinds += table.kinds
            first += len(table.samples)
        return cls(question, samples, kinds, np.concatenate(columns))

    def with_kinds(self, others: Iterable[tuple[int, Question]]) -> AskedTable[Question]:
        """Return a copy with the questions at some positions replaced; the images stay the same."""
        kinds, kind = list(self.kinds), self.kind.copy()
        for place, question in others:
            kind[place] = len(kinds)
            kinds.append(tuple(getattr(question, name) for name in self.names))
        numbers = np.column_stack((kind, self.row))
        return AskedTable(self._question, self.samples, kinds, numbers)

    def __len__(self) -> int:
        return len(self.kind)

    @overload
    def __getitem__(self, place: int) -> Question: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Question]: ...

    def __getitem__(self, place: int | slice) -> Question | Sequence[Question]:
        if isinstance(place, slice):
            return self.at(range(len(self))[place])
        return self.at([range(len(self))[place]])[0]

    def __iter__(self) -> Iterator[Question]:
        return iter(self.at(range(len(self))))

    def at(self, places: Sequence[int] | NDArray[Any]) -> list[Question]:
        """Return the questions at these positions, in the order of ``places``."""
        indexes = np.asarray(places, np.int64)
        rows, which = np.unique(self.row[indexes], return_inverse=True)
        samples = self.samples.rows(rows)
        return [
            self._question(
                **dict(zip(self.names, self.kinds[kind], strict=True)), sample=samples[place]
            )
            for kind, place in zip(self.kind[indexes], which, strict=True)
        ]


def _names(question: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(question) if field.name != _IMAGE)
