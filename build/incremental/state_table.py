"""File states in compact form: 32 bytes for each file instead of an object with four numbers."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FileState", "StateTable", "packed_state", "verified_states"]

_STATE = struct.Struct("<4q")

_INODES = (1 << 63) - 1
"""SQLite stores 63 bits; layered file systems also use the highest one."""


class FileState(NamedTuple):
    """File metadata from stat; times in nanoseconds."""

    size: int
    written: int
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


_GONE = _STATE.pack(-1, -1, -1, -1)


def verified_states(names: Iterable[str], packed: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and state of the files that exist; the inverse of ``StateTable.packed``."""
    for place, name in enumerate(names):
        state = packed[place * _STATE.size : (place + 1) * _STATE.size]
        if state != _GONE:
            yield name, state


class StateTable(Mapping[str, FileState]):
    """State of each file by name; a ``FileState`` is created on access."""

    def __init__(self, states: dict[str, bytes]) -> None:
        """Take packed states by name; the table keeps the dictionary itself."""
        self._states = states

    def __getitem__(self, name: str) -> FileState:
        return FileState.unpack(self._states[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def __contains__(self, name: object) -> bool:
        return name in self._states

    def keys(self) -> KeysView[str]:
        """Return the names; set operations on them take the time of a dictionary."""
        return self._states.keys()

    def packed(self, names: Iterable[str] | None = None) -> bytes:
        """Return the states of some files, or of all, as bytes for comparison.

        A missing file has a state of its own.
        """
        if names is None:
            return b"".join(self._states.values())
        return b"".join(self._states.get(name, _GONE) for name in names)

    def changed(self, written: Mapping[str, bytes], gone: Iterable[str]) -> StateTable:
        """Return the states after some files were written, with packed states, and others deleted.

        The names are in another order.
        """
        states = {**self._states, **written}
        for name in gone:
            states.pop(name, None)
        return StateTable(states)

    def last_change(self) -> int:
        """Return the latest change time of all files; 0 if there are none."""
        return int(self._column(2).max(initial=0))

    def sizes(self) -> dict[str, int]:
        """Return the size of every file by name, without a ``FileState`` for each."""
        return dict(zip(self._states, self._column(0).tolist(), strict=True))

    def _column(self, number: int) -> NDArray[np.int64]:
        return np.frombuffer(self.packed(), "<i8").reshape(-1, 4)[:, number]

    def above(self, folder: str) -> dict[str, bytes]:
        """Return the packed states by the names that the files have from a folder above."""
        return {f"{folder}{name}": state for name, state in self._states.items()}

    def below(self, folder: str) -> StateTable:
        """Return the states of the files in a subfolder, by their names there."""
        start = f"{folder}/"
        inside = (name for name in self._states if name.startswith(start))
        return StateTable({name[len(start) :]: self._states[name] for name in inside})
