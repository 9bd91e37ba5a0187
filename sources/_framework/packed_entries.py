"""Entries of an adapter, merged by key and held in packed form.

An adapter may yield two entries of one key at any distance, so none is settled before the last one
is known. Until then all are held; packed, a case takes about a tenth of its memory as an object.
They are kept in memory alone, because they contain names of patients and free text.
"""

from __future__ import annotations

import io
import pickle
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from copyreg import dispatch_table
from pathlib import Path

from medrcube.facts import Case, Skip

__all__ = ["PackedEntries"]

Entry = Case | Skip

_BLOCK = 1_024
"""Entries packed together; fewer than that are kept as they are."""


class PackedEntries(Iterable[Entry]):
    """Entries in the order of their first occurrence, one for each key; can be iterated repeatedly.

    Attributes:
        first: entries that precede all others and are not merged with them.
    """

    def __init__(self, entries: Iterable[Entry], merge: Callable[[Entry, Entry], Entry]) -> None:
        """Take the entries of an adapter.

        Args:
            entries: the entries.
            merge: returns the entry that two of the same key result in.
        """
        self.first: tuple[Entry, ...] = ()
        self._blocks: list[bytes] = []
        self._opening: list[bool] = []
        self._last: list[Entry] = []
        self._merged: dict[int, Entry | None] = {}
        hashes = array("q")
        for entry in entries:
            hashes.append(hash(entry.key))
            self._last.append(entry)
            if len(self._last) == _BLOCK:
                self._blocks.append(_pack(self._last))
                self._opening.append(any(map(_opens, self._last)))
                self._last = []
        self._merge(hashes, merge)

    def __iter__(self) -> Iterator[Entry]:
        yield from self.first
        for number in range(len(self._blocks) + 1):
            yield from self._of_block(number)

    def opening(self) -> Iterator[Skip]:
        """Yield the skips that may concern any case; only blocks that hold some are unpacked."""
        blocks = {place // _BLOCK for place, entry in self._merged.items() if _opens(entry)}
        blocks |= {number for number, opens in enumerate(self._opening) if opens}
        entries = [*self.first]
        for number in sorted(blocks | {len(self._blocks)}):
            entries += filter(_opens, self._of_block(number))
        return (entry for entry in entries if isinstance(entry, Skip) and entry.opens)

    def _of_block(self, number: int) -> Iterator[Entry]:
        packed = number < len(self._blocks)
        entries = _unpack(self._blocks[number]) if packed else self._last
        for place, entry in enumerate(entries, number * _BLOCK):
            merged = self._merged.get(place, entry)
            if merged is not None:
                yield merged

    def _merge(self, packed_hashes: array[int], merge: Callable[..., Entry]) -> None:
        """Find keys that occur more than once; the first place of each holds the merged entry."""
        import numpy as np  # noqa: PLC0415  (most commands read cards and list no case)

        hashes = np.frombuffer(packed_hashes, np.int64)
        values, counts = np.unique(hashes, return_counts=True)
        places = np.flatnonzero(np.isin(hashes, values[counts > 1])).tolist()
        if not places:
            return
        repeated = self._at(places)
        first: dict[str, int] = {}
        merged: dict[int, Entry | None] = {}
        for place, entry in zip(places, repeated, strict=True):
            begun = first.setdefault(entry.key, place)
            before = merged.get(begun)
            merged[place] = None
            merged[begun] = entry if before is None else merge(before, entry)
        self._merged = merged

    def _at(self, places: list[int]) -> Iterator[Entry]:
        """Yield the entries at some places, in their order."""
        entries, number = self._last, len(self._blocks)
        for place in places:
            if place // _BLOCK != number:
                number = place // _BLOCK
                packed = number < len(self._blocks)
                entries = _unpack(self._blocks[number]) if packed else self._last
            yield entries[place % _BLOCK]


def _opens(entry: Entry | None) -> bool:
    return isinstance(entry, Skip) and bool(entry.opens)


class _Packer(pickle.Pickler):
    """Pickles a path as one string, which is read back faster than its parts."""

    dispatch_table = {**dispatch_table, type(Path()): lambda path: (Path, (str(path),))}  # noqa: RUF012


def _pack(entries: list[Entry]) -> bytes:
    stream = io.BytesIO()
    _Packer(stream, protocol=5).dump(entries)
    return zlib.compress(stream.getvalue(), level=1)


def _unpack(block: bytes) -> list[Entry]:
    # It was pickled by this process and has never left it.
    return pickle.loads(zlib.decompress(block))  # type: ignore[no-any-return]  # noqa: S301
