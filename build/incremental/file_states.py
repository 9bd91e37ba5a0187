"""File snapshots: path and stat of every file of a tree, without opening any.

A state is size, mtime, ctime and inode. ctime cannot be set by hand, so a file with replaced
content has another state even if its size and mtime were restored. Two changes within one clock
tick share a time; a snapshot therefore waits until the tick of the youngest file is over (as with
"racy" entries of Git's index).
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = [
    "FileState",
    "OnFiles",
    "TreeSnapshot",
    "file_state",
    "no_progress",
    "snapshot",
    "snapshot_parent",
]

_TICK_NS = 20_000_000
"""File times of Linux follow the timer interrupt, at least 100 times a second; twice that."""

_OUTSIDE = (
    "is reached by a link that leads out of the raw root, and what is outside is not read; copy "
    "it (cp -rL), or name the folder that the link leads to as the raw root"
)
_NO_FILE = "is not a file but a pipe or a device; expected a file"


Kind = TypeVar("Kind")


class FileState(NamedTuple):
    """What the file system says of a file; times in nanoseconds."""

    size: int
    written: int
    changed: int
    inode: int


OnFiles = Callable[[int], object]
"""Told the number of files of each folder that is read."""


def no_progress(_files: int, /) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, kw_only=True)
class TreeSnapshot:
    """The files below a folder.

    Attributes:
        root: the folder, with all links resolved.
        states: path relative to the root, with forward slashes -> state; in a fixed order.
        barred: files that must not be read, and why.
        linked: whether there is a link in it, so that what a part of it holds cannot be told
            without another look.
        settled: whether every later change will show. False while somebody writes there, or
            where the clock of a file server is ahead of ours.
    """

    root: Path
    states: Mapping[str, FileState]
    barred: Mapping[str, str]
    linked: bool
    settled: bool

    @cached_property
    def digest(self) -> str:
        """Hash of all of it; equal digests mean that no file has changed."""
        return _digest(self.states, self.barred)

    @cached_property
    def seen(self) -> RawTree:
        """The tree as adapters see it."""
        return RawTree(self.root, [*self.states, *self.barred])

    def closed(self) -> TreeSnapshot:
        """The same without its files, once nothing but its digest is asked for."""
        closed = replace(self, states={}, barred={})
        closed.__dict__["digest"] = self.digest
        return closed

    def inside(self, folder: str) -> TreeSnapshot:
        """The tree of a folder in it; no directory is read again, but where there are links."""
        if self.linked:
            return snapshot(self.root / folder)
        inner = TreeSnapshot(
            root=self.root / folder,
            states=_below(self.states, folder),
            barred=_below(self.barred, folder),
            linked=False,
            settled=self.settled,
        )
        inner.__dict__["seen"] = self.seen.inside(folder)  # with what is known of its globs
        return inner

    def state(self, path: Path) -> FileState | None:
        """State of a file below the root; ``None`` where the look found none."""
        name = os.fspath(path)[len(os.fspath(self.root)) + 1 :]
        return self.states.get(name.replace(os.sep, "/"))


def snapshot(root: Path, tell: OnFiles = no_progress) -> TreeSnapshot:
    """Look at a tree without opening a file; a folder that is not there holds nothing.

    Linked folders are followed, each real folder once; links to nothing are not there. A file
    that a link leads to outside the root is barred, and so is what is not a file: an archive from
    the network can hold a link to any file of this machine, which would end up in an image,
    and a pipe, which never ends.
    """
    return _take_snapshot(Path(os.path.realpath(root)), partial(_walk, tell=tell))


def snapshot_parent(
    inner: TreeSnapshot, folder: Path, most: int, tell: OnFiles = no_progress
) -> TreeSnapshot | None:
    """Look at a folder above a tree; what lies in the tree is not read again.

    Args:
        inner: a tree below ``folder``.
        folder: all its links are resolved.
        most: number of files beside the tree.
        tell: told what is read.

    Returns:
        The tree of ``folder``, or ``None`` where it has more files.
    """
    held = len(inner.states) + len(inner.barred)
    for reused in (None,) if inner.linked else (inner, None):
        limit = most if reused else most + held
        try:
            tree = _take_snapshot(folder, partial(_walk, tell=tell, inner=reused, most=limit))
        except _TooManyError:
            return None
        except _LinkedError:  # of a known part alone
            continue
        return replace(tree, settled=tree.settled and (reused is None or reused.settled))
    return None


def file_state(path: Path) -> FileState | None:
    """State of one file; ``None`` where there is none."""
    try:
        return _state(path.stat())
    except OSError:
        return None


class _TooManyError(Exception):
    """A folder holds more files than are looked at."""


class _LinkedError(Exception):
    """A link may lead into the part that is known."""


class _Entry(NamedTuple):
    """Something that is not a folder.

    ``inside`` tells whether its folder lies below the root, ``by_link`` whether a link leads there.
    """

    name: str
    entry: os.DirEntry[str]
    inside: bool
    by_link: bool


class _Walk(NamedTuple):
    """What one look finds."""

    states: dict[str, FileState]
    barred: dict[str, str]
    linked: bool


def _take_snapshot(root: Path, looked: Callable[[str], _Walk]) -> TreeSnapshot:
    """A tree as ``looked`` finds it, once more where its youngest file is too young."""
    for wait in (True, False):
        started = time.time_ns()
        states, barred, linked = looked(os.fspath(root))
        settled = _is_settled(states, started)
        if settled or not wait:
            break
        time.sleep(2 * _TICK_NS / 1e9)
    return TreeSnapshot(root=root, states=states, barred=barred, linked=linked, settled=settled)


def _walk(
    root: str, tell: OnFiles, inner: TreeSnapshot | None = None, most: int | None = None
) -> _Walk:
    states: dict[str, FileState] = {}
    barred: dict[str, str] = {}
    linked = False
    held: tuple[Mapping[str, FileState], Mapping[str, str]] = ({}, {})
    if inner is not None:
        held = inner.states, inner.barred
    for number, part in enumerate(_entries(root, tell, inner)):
        if isinstance(part, str):
            states.update((f"{part}{file}", state) for file, state in held[0].items())
            barred.update((f"{part}{file}", reason) for file, reason in held[1].items())
            continue
        name, entry, inside, by_link = part
        is_link = entry.is_symlink()
        linked = linked or by_link or is_link
        if linked and inner is not None:
            raise _LinkedError
        if most is not None and number > most:
            raise _TooManyError
        try:
            status = entry.stat()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                continue
            barred[name] = f"cannot be looked at ({error.strerror}); make it readable"
            continue
        if not inside or (is_link and not _is_within(entry.path, root)):
            barred[name] = _OUTSIDE
        elif not stat.S_ISREG(status.st_mode):
            barred[name] = _NO_FILE
        else:
            states[name] = _state(status)
    return _Walk(states, barred, linked)


def _entries(root: str, tell: OnFiles, inner: TreeSnapshot | None) -> Iterator[_Entry | str]:
    """Everything that is not a folder, in the order of ``raw_tree.walk_files``.

    In the place of all that lies in the known part comes its path, with a slash at the end.
    """
    place = "" if inner is None else os.fspath(inner.root)
    visited: set[tuple[int, int]] = set()
    todo = [(root, "", True, False)]
    while todo:
        folder, prefix, inside, by_link = todo.pop()
        if folder == place:
            yield prefix
            continue
        try:
            identity = os.stat(folder)  # noqa: PTH116  # a path object costs as much as the call
            with os.scandir(folder) as directory:
                entries = sorted(directory, key=attrgetter("name"))
        except OSError:  # not there, or not ours to list: its files are missing, as cases will say
            continue
        if (identity.st_dev, identity.st_ino) in visited:
            continue
        visited.add((identity.st_dev, identity.st_ino))
        folders: list[tuple[str, str, bool, bool]] = []
        for entry in entries:
            if _is_folder(entry):
                is_link = entry.is_symlink()
                within = (inside and not is_link) or _is_within(entry.path, root)
                folders.append((entry.path, f"{prefix}{entry.name}/", within, by_link or is_link))
            else:
                yield _Entry(f"{prefix}{entry.name}", entry, inside, by_link)
        tell(len(entries) - len(folders))
        todo.extend(reversed(folders))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle
        return False


def _is_within(path: str, root: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root)


def _state(status: os.stat_result) -> FileState:
    # SQLite holds 63 bits; file systems that are laid over others use the highest too.
    inode = status.st_ino & ((1 << 63) - 1)
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode)


def _is_settled(states: Mapping[str, FileState], started: int) -> bool:
    return max((state.changed for state in states.values()), default=0) < started - _TICK_NS


def _below(entries: Mapping[str, Kind], folder: str) -> dict[str, Kind]:
    start = len(folder) + 1
    return {name[start:]: value for name, value in entries.items() if name.startswith(f"{folder}/")}


def _digest(states: Mapping[str, FileState], barred: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name, state in states.items():
        digest.update(os.fsencode(f"{name}\0{state}\n"))
    for name, reason in barred.items():
        digest.update(os.fsencode(f"{name}\0{reason}\n"))
    return digest.hexdigest()
