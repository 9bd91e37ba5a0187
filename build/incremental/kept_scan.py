"""Cached scan of a source, in portions of consecutive cases.

A scan depends on the names in a raw tree and on the files that the adapter opens, usually tables.
Of images, it depends only on those that the adapter was observed to open, so replacing any other
image leaves the scan valid. Cases of a portion are loaded when one of its files has changed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.incremental.result_cache import (
    RecordStore,
    dump_record,
    hash_values,
    load_record,
    source_key,
)
from medrcube.build.incremental.shards import (
    Portion,
    digest_of_cases,
    in_portions,
    name_of_portion,
)
from medrcube.build.name_batches import name_batches
from medrcube.build.stages.contradictions import count_outcomes
from medrcube.build.stages.plan import RenderJob, picture_name, plan_jobs
from medrcube.build.stages.scan import ScanNotes, iter_cases
from medrcube.facts import Case, QuarantineRow
from medrcube.names import relative_name
from medrcube.sources._framework.contract import Source
from medrcube.sources._framework.layout import LayoutReport, compare_layouts
from medrcube.sources._framework.raw_tree.opened_files import files_opened

__all__ = ["KeptScan", "LostRecordError", "ScanHead", "keep_scan", "scan_anew"]

_UNREAD = (
    *(".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff"),
    *(".dcm", ".dicom", ".ima"),
)
"""Suffixes of image files that no adapter can read unobserved: their readers open files in Python.
HDF5 and ITK do not, so files of their formats always count as read.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanHead:
    """Scan results for a source as a whole; see ``scan.Scan``.

    Attributes:
        layout: comparison of the tree with the card.
        cases: number of cases whose files are all present.
        absent: keys of cases whose image is not in this copy.
        absent_files: first missing file of each of these cases, relative to the root.
        problems: everything else that does not become an image.
        remarks: problems of cases that become images nevertheless.
        words: field -> outcome of the text check -> number of labels.
        sidecars: files that provide only facts of some cases, with the keys of these.
        portions: all cases, in order.
    """

    layout: LayoutReport
    cases: int
    absent: tuple[str, ...]
    absent_files: tuple[str, ...]
    problems: tuple[QuarantineRow, ...]
    remarks: tuple[QuarantineRow, ...]
    words: Mapping[str, Mapping[str, int]]
    sidecars: tuple[tuple[str, tuple[str, ...]], ...]
    portions: tuple[Portion, ...]


_END = "\0"
"""Separator between file names, in which it cannot occur."""


class LostRecordError(Exception):
    """The cache has lost a part of a scan, for example after damage to its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PortionRecord:
    """The cases of a portion, and the names of their images."""

    cases: tuple[Case, ...]
    names: tuple[str, ...]

    def files(self, root: Path) -> tuple[str, ...]:
        """Return their raw files, relative to the raw root."""
        paths = (path for case in self.cases for path in case.files())
        return tuple(dict.fromkeys(relative_name(path, root) for path in paths))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """Images that the adapter opened when it last scanned a tree."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptScan:
    """A scan whose cases are loaded on access.

    Attributes:
        source: the source.
        root: its raw tree.
        head: scan results for the source as a whole.
        memory: store of the cases.
    """

    source: Source
    root: Path
    head: ScanHead
    memory: RecordStore

    def jobs(self, portion: Portion) -> tuple[RenderJob, ...]:
        """Return the jobs of the cases of a portion, in order.

        Raises:
            LostRecordError: the cache has lost them.
        """
        record = _load_portion(self.memory, portion)
        names = dict(zip((case.key for case in record.cases), record.names, strict=True))
        return tuple(plan_jobs(self.source, self.root, record.cases, names))

    def files(self, portion: Portion) -> Sequence[str]:
        """Return the raw files of the cases of a portion, relative to the raw root.

        Raises:
            LostRecordError: the cache has lost their names.
        """
        text = self.memory.recall(f"files/{portion.name}", portion.digest)
        if text is None or hashlib.sha256(text).hexdigest() != portion.files:
            raise LostRecordError
        return os.fsdecode(text).split(_END)


def keep_scan(source: Source, tree: TreeSnapshot, secret: bytes, memory: RecordStore) -> KeptScan:
    """Scan a raw tree, or return its cached scan; see ``scan.scan``.

    Raises:
        SourceError: the tree fits no layout, or the adapter breaks its contract.
    """
    common = source_key(source, tree.root, secret)
    opened = load_record(memory, f"opened/{source.id}", common, _Opened) if tree.settled else None
    if opened is not None:
        key = _key(common, tree, opened.names)
        head = load_record(memory, f"scan/{source.id}", key, ScanHead)
        if head is not None:
            return KeptScan(source=source, root=tree.root, head=head, memory=memory)
    return scan_anew(source, tree, secret, memory)


def scan_anew(source: Source, tree: TreeSnapshot, secret: bytes, memory: RecordStore) -> KeptScan:
    """Scan a tree and store its cases, portion by portion, as the adapter yields them.

    The result is found again only if every later change of the tree will be noticed.
    """
    # From here on, the cache holds a mixture of the portions of two scans.
    memory.remember(f"scan/{source.id}", secrets.token_hex(), b"")
    notes = ScanNotes(layout=compare_layouts(source.card, tree.visible_tree))
    portions = _Portions(source.id, tree.root, memory)
    with files_opened() as opened:
        for cases in in_portions(iter_cases(source, tree, secret, notes)):
            portions.add(cases)
    tree.drop_listing()
    portions.tell_names_apart()
    head = ScanHead(
        layout=notes.layout,
        cases=sum(portion.cases for portion in portions.entries),
        absent=tuple(notes.absent),
        absent_files=tuple(notes.absent_files),
        problems=tuple(notes.problems),
        remarks=tuple(notes.remarks),
        words=count_outcomes(notes.outcomes),
        sidecars=tuple((name, tuple(keys)) for name, keys in portions.owners.items()),
        portions=tuple(portions.entries),
    )
    for kind in ("cases", "files"):
        memory.forget(f"{kind}/{source.id}/", {f"{kind}/{each.name}" for each in head.portions})
    if tree.settled:
        common = source_key(source, tree.root, secret)
        opened_files = _Opened(names=_names_below(tree, opened))
        memory.remember(f"opened/{source.id}", common, dump_record(opened_files))
        key = _key(common, tree, opened_files.names)
        memory.remember(f"scan/{source.id}", key, dump_record(head))
    return KeptScan(source=source, root=tree.root, head=head, memory=memory)


class _Portions:
    """Portions of a scan in the cache.

    Attributes:
        entries: the portions so far.
        owners: file that provides only facts of some cases -> keys of these.
    """

    def __init__(self, source: str, root: Path, memory: RecordStore) -> None:
        self.entries: list[Portion] = []
        self.owners: dict[str, list[str]] = {}
        self._source, self._root, self._memory = source, root, memory
        self._hashes = array("q")

    def add(self, cases: tuple[Case, ...]) -> None:
        """Store the next cases, under names that are right unless another case has the same."""
        for case in cases:
            for path in case.sidecars:
                self.owners.setdefault(relative_name(path, self._root), []).append(case.key)
        names = tuple(picture_name(case.key) for case in cases)
        self._hashes.extend(map(_hash, names))
        self.entries.append(self._store(cases, names))

    def tell_names_apart(self) -> None:
        """Store the portions again in which a name is shared with another case."""
        hashes = np.frombuffer(self._hashes, np.int64)
        values, counts = np.unique(hashes, return_counts=True)
        repeated = np.isin(hashes, values[counts > 1])
        ends = np.cumsum([portion.cases for portion in self.entries])
        affected = np.unique(np.searchsorted(ends, np.flatnonzero(repeated), "right")).tolist()
        records = {place: _load_portion(self._memory, self.entries[place]) for place in affected}
        folded = Counter(name.lower() for record in records.values() for name in record.names)
        for place, record in records.items():
            names = tuple(
                picture_name(case.key, shared=folded[name.lower()] > 1)
                for case, name in zip(record.cases, record.names, strict=True)
            )
            self.entries[place] = self._store(record.cases, names)

    def _store(self, cases: tuple[Case, ...], names: tuple[str, ...]) -> Portion:
        record = _PortionRecord(cases=cases, names=names)
        name, digest = name_of_portion(self._source, cases), digest_of_cases(cases, names)
        files = os.fsencode(_END.join(record.files(self._root)))
        self._memory.remember(f"cases/{name}", digest, dump_record(record))
        self._memory.remember(f"files/{name}", digest, files)
        return Portion(
            name=name, digest=digest, cases=len(cases), files=hashlib.sha256(files).hexdigest()
        )


def _load_portion(memory: RecordStore, portion: Portion) -> _PortionRecord:
    record = load_record(memory, f"cases/{portion.name}", portion.digest, _PortionRecord)
    if record is None:
        raise LostRecordError
    return record


def _hash(name: str) -> int:
    return hash(name.lower())


def _key(common: str, tree: TreeSnapshot, opened: Iterable[str]) -> str:
    """Hash of everything that a scan depends on: every name, and the states of files it may read.

    Of images that the adapter did not open, only whether they are empty is included, which needs no
    opening.
    """
    was_opened = frozenset(opened)
    names_in_place: list[str] = []
    empty: list[str] = []
    for name, size in tree.states.sizes():
        if name in was_opened or not name.lower().endswith(_UNREAD):
            names_in_place.append(name)
        elif size == 0:
            empty.append(name)
    names = hashlib.sha256()
    for part in name_batches(tree.states):
        names.update(os.fsencode(_END.join(part) + _END))
    states = hashlib.sha256(tree.states.packed(names_in_place)).hexdigest()
    return hash_values(
        common, names.hexdigest(), names_in_place, states, empty, sorted(tree.blocked_files.items())
    )


def _names_below(tree: TreeSnapshot, opened: Iterable[Path]) -> tuple[str, ...]:
    """Return the files of a tree among those that were opened, however their path was spelled."""
    prefix = f"{tree.root}{os.sep}"
    paths = (os.path.normpath(path) for path in opened)
    names = {path.removeprefix(prefix).replace(os.sep, "/") for path in paths}
    return tuple(sorted(names & tree.states.keys()))
