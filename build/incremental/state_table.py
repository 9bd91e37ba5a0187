"""File states in compact form: 32 bytes for each file instead of an object with four numbers."""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_FILE", "FileState", "StateTable", "packed_state", "with_states"]

_STATE = struct.Struct("<4q")

_INODES = (1 << 63) - 1
"""SQLite stores 63 bits; layered file systems also use the highest one."""


class FileState(NamedTuple):
    """File metadata from stat; times in nanoseconds."""

    size: int
    modified: int
    changed: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        """Return the state that ``stat`` reports."""
        return cls.unpack(packed_state(status))

    @classmethod
    def unpack(cls, packed: bytes) -> FileState:
        """Inverse of ``packed``."""
        return cls._make(_STATE.unpack(packed))

    def packed(self) -> bytes:
        """Return the state as 32 bytes."""
        return _STATE.pack(*self)


def packed_state(status: os.stat_result) -> bytes:
    """Return the packed ``FileState`` that ``stat`` reports."""
    inode = status.st_ino & _INODES
    return _STATE.pack(status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode)


NO_FILE = _STATE.pack(-1, -1, -1, -1)
"""Packed state of a file that does not exist."""


def with_states(names: Iterable[str], packed: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each name with its state, from what ``StateTable.packed`` returned for the names."""
    for place, name in enumerate(names):
        yield name, packed[place * _STATE.size : (place + 1) * _STATE.size]


class StateTable(Mapping[str, FileState]):
    """State of each file by name, in about 60 bytes and the name; created on access.

    Names are one string of bytes. A file is found by the hash of its name, among sorted hashes.
    """

    def __init__(self, states: Iterable[tuple[str, bytes]] = ()) -> None:
        """Take names, each once, with packed states."""
        names, ends, packed, hashes = bytearray(), array("q"), bytearray(), array("q")
        for name, state in states:
            encoded = _encode(name)
            names += encoded
            ends.append(len(names))
            packed += state
            hashes.append(hash(encoded))
        self._names, self._ends, self._packed = bytes(names), ends, bytes(packed)
        numbers = np.frombuffer(hashes, np.int64)
        self._rows = np.argsort(numbers, kind="stable").astype(np.int32)
        self._hashes = numbers[self._rows]

    def __getitem__(self, name: str) -> FileState:
        row = self._row(_encode(name))
        if row < 0:
            raise KeyError(name)
        return FileState.unpack(self._state(row))

    def __iter__(self) -> Iterator[str]:
        return map(self._name, range(len(self)))

    def __len__(self) -> int:
        return len(self._ends)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._row(_encode(name)) >= 0

    def packed(self, names: Iterable[str] | None = None) -> bytes:
        """Return the states of some files, or of all, as bytes for comparison.

        A missing file has a state of its own.
        """
        if names is None:
            return self._packed
        rows = self._rows_of(names)
        states = np.full((len(rows), 4), np.frombuffer(NO_FILE, "<i8"))
        has_state = rows >= 0
        states[has_state] = self._states()[rows[has_state]]
        return states.tobytes()

    def pairs(self) -> Iterator[tuple[str, bytes]]:
        """Yield names with packed states."""
        return ((self._name(row), self._state(row)) for row in range(len(self)))

    def by_name(self) -> tuple[list[str], bytes]:
        """Return all names, sorted, and their states in that order, packed."""
        names = list(self)
        order = sorted(range(len(names)), key=names.__getitem__)
        return [names[row] for row in order], self._states()[order].tobytes()

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return the names that have no state."""
        listed = list(names)
        return [listed[place] for place in np.flatnonzero(self._rows_of(listed) < 0)]

    def changed(self, new_states: StateTable, gone: Collection[str]) -> StateTable:
        """Return the states after some files were written and others deleted.

        The names are in another order.
        """
        left = np.ones(len(self) + 1, bool)
        left[self._rows_of(chain(new_states, gone))] = False
        rest = ((self._name(row), self._state(row)) for row in np.flatnonzero(left[:-1]).tolist())
        additions = ((name, state) for name, state in new_states.pairs() if name not in gone)
        return StateTable(chain(rest, additions))

    def last_change(self) -> int:
        """Return the latest change time of all files; 0 if there are none."""
        return int(self._states()[:, 2].max(initial=0))

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Yield the name and the size of every file, without a ``FileState`` for each."""
        return zip(self, self._states()[:, 0].tolist(), strict=True)

    def smallest(self, names: Iterable[str]) -> str:
        """Return the file of the least size, the first by name of several; each must be listed."""
        listed = list(names)
        sizes = self._states()[self._rows_of(listed), 0]
        return min(listed[place] for place in np.flatnonzero(sizes == sizes.min()))

    def above(self, folder: str) -> Iterator[tuple[str, bytes]]:
        """Yield the packed states with the names that the files have from a folder above."""
        return ((f"{folder}{name}", state) for name, state in self.pairs())

    def below(self, folder: str) -> StateTable:
        """Return the states of the files in a subfolder, by their names there."""
        start = f"{folder}/"
        return StateTable(
            (name[len(start) :], state) for name, state in self.pairs() if name.startswith(start)
        )

    def _rows_of(self, names: Iterable[str]) -> NDArray[np.intp]:
        """Return the row of each name; -1 if there is none."""
        encoded = list(map(_encode, names))
        if not len(self):
            return np.full(len(encoded), -1, np.intp)
        numbers = np.fromiter(map(hash, encoded), np.int64, len(encoded))
        places = np.searchsorted(self._hashes, numbers)
        rows = self._rows.take(places, mode="clip").astype(np.intp)
        ends = np.frombuffer(self._ends, np.int64)
        starts = np.where(rows > 0, ends[rows - 1], 0).tolist()
        text = self._names
        others = [text[start:end] for start, end in zip(starts, ends[rows].tolist(), strict=True)]
        for place, (name, other) in enumerate(zip(encoded, others, strict=True)):
            if name != other:
                rows[place] = self._row(name)
        return rows

    def _row(self, encoded: bytes) -> int:
        number = hash(encoded)
        place = int(np.searchsorted(self._hashes, number))
        while place < len(self._hashes) and self._hashes[place] == number:
            row = int(self._rows[place])
            if self._encoded(row) == encoded:
                return row
            place += 1
        return -1

    def _name(self, row: int) -> str:
        return self._encoded(row).decode("utf-8", "surrogatepass")

    def _encoded(self, row: int) -> bytes:
        return self._names[self._ends[row - 1] if row else 0 : self._ends[row]]

    def _state(self, row: int) -> bytes:
        return self._packed[row * _STATE.size : (row + 1) * _STATE.size]

    def _states(self) -> NDArray[np.int64]:
        return np.frombuffer(self._packed, "<i8").reshape(-1, 4)


def _encode(name: str) -> bytes:
    # File names may hold lone surrogates, see ``medrcube.names``.
    return name.encode("utf-8", "surrogatepass")
