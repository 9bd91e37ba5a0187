"""What lies on disk, told by names and states alone: one fast look at a raw tree or at pictures.

A state is what the file system says of a file: size, time of the last write, time of the last
change and inode. The time of change cannot be set by hand, so a file whose content was replaced
has another state even where its size and the time of writing were put back. Two changes within
one tick of the clock that stamps files have one time; a look therefore waits until the tick of
the youngest file is over (the "racy" entries of Git's index are the same matter).
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

_TICK_NS = 20_000_000
"""File times of Linux follow the timer interrupt, at least 100 times a second; twice that."""

_OUTSIDE = (
    "is reached by a link that leads out of the raw root, and what is outside is not read; copy "
    "it (cp -rL), or name the folder that the link leads to as the raw root"
)
_NO_FILE = "is no file but a pipe or a device; expected a file"


class State(NamedTuple):
    """What the file system says of a file; times in nanoseconds."""

    size: int
    written: int
    changed: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The files below a folder.

    Attributes:
        root: the folder, with all links resolved.
        states: path relative to the root, with forward slashes -> state; in a fixed order.
        barred: files that must not be read, and why.
        digest: hash of all of it; equal digests mean that no file has changed.
        settled: whether every later change will show. False while somebody writes there, or
            where the clock of a file server is ahead of ours.
    """

    root: Path
    states: Mapping[str, State]
    barred: Mapping[str, str]
    digest: str
    settled: bool

    def state(self, path: Path) -> State | None:
        """State of a file below the root; ``None`` where the look found none."""
        name = os.fspath(path)[len(os.fspath(self.root)) + 1 :]
        return self.states.get(name.replace(os.sep, "/"))


def look(root: Path) -> Tree:
    """Look at a tree without opening a file; a folder that is not there holds nothing.

    Linked folders are followed, each real folder once; links to nothing are not there. A file
    that a link leads to outside the root is barred, and so is what is no file: an archive from
    the network can hold a link to any file of this machine, which would end up in a picture,
    and a pipe, which never ends.
    """
    real = os.path.realpath(root)
    started = time.time_ns()
    states, barred = _look(real)
    settled = _is_settled(states, started)
    if not settled:
        time.sleep(2 * _TICK_NS / 1e9)
        started = time.time_ns()
        states, barred = _look(real)
        settled = _is_settled(states, started)
    return Tree(
        root=Path(real),
        states=states,
        barred=barred,
        digest=_digest(states, barred),
        settled=settled,
    )


def state_of(path: Path) -> State | None:
    """State of one file; ``None`` where there is none."""
    try:
        return _state(path.stat())
    except OSError:
        return None


def _look(root: str) -> tuple[dict[str, State], dict[str, str]]:
    states: dict[str, State] = {}
    barred: dict[str, str] = {}
    for name, entry, inside in _entries(root):
        try:
            found = entry.stat()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                continue
            barred[name] = f"cannot be looked at ({error.strerror}); make it readable"
            continue
        if not inside or (entry.is_symlink() and not _is_within(entry.path, root)):
            barred[name] = _OUTSIDE
        elif not stat.S_ISREG(found.st_mode):
            barred[name] = _NO_FILE
        else:
            states[name] = _state(found)
    return states, barred


def _entries(root: str) -> Iterator[tuple[str, os.DirEntry[str], bool]]:
    """Everything that is no folder, in the order of ``layout.walk``; whether it lies inside."""
    seen: set[tuple[int, int]] = set()
    todo = [(root, "", True)]
    while todo:
        folder, prefix, inside = todo.pop()
        try:
            identity = os.stat(folder)  # noqa: PTH116  # a path object costs as much as the call
            with os.scandir(folder) as found:
                entries = sorted(found, key=attrgetter("name"))
        except OSError:  # not there, or not ours to list: its files are missing, as cases will say
            continue
        if (identity.st_dev, identity.st_ino) in seen:
            continue
        seen.add((identity.st_dev, identity.st_ino))
        folders: list[tuple[str, str, bool]] = []
        for entry in entries:
            if _is_folder(entry):
                straight = inside and not entry.is_symlink()
                folders.append(
                    (entry.path, f"{prefix}{entry.name}/", straight or _is_within(entry.path, root))
                )
            else:
                yield f"{prefix}{entry.name}", entry, inside
        todo.extend(reversed(folders))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle
        return False


def _is_within(path: str, root: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root)


def _state(found: os.stat_result) -> State:
    # SQLite holds 63 bits; file systems that are laid over others use the highest too.
    inode = found.st_ino & ((1 << 63) - 1)
    return State(found.st_size, found.st_mtime_ns, found.st_ctime_ns, inode)


def _is_settled(states: Mapping[str, State], started: int) -> bool:
    return max((state.changed for state in states.values()), default=0) < started - _TICK_NS


def _digest(states: Mapping[str, State], barred: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name, state in states.items():
        digest.update(os.fsencode(f"{name}\0{state}\n"))
    for name, reason in barred.items():
        digest.update(os.fsencode(f"{name}\0{reason}\n"))
    return digest.hexdigest()
