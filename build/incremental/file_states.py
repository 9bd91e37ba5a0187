"""File snapshots: path and stat of every file of a tree, without opening any.

A state consists of size, mtime, ctime and inode. ctime cannot be set by hand, so a file with
replaced content has another state even if its size and mtime were restored. Two changes within one
clock tick have the same time; a snapshot therefore waits until the tick of the youngest file is
over (like "racy" entries of Git's index).
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from medrcube.build.incremental.state_table import FileState, StateTable, packed_state
from medrcube.build.name_batches import name_batches
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
"""File times of Linux follow the timer interrupt, at least 100 times a second; this is twice that
period.
"""

_LONGEST_WAIT_NS = 2 * _TICK_NS
"""Nanoseconds after which the tick of a file that was just written is over."""

_OUTSIDE = (
    "is reached by a link that leads out of the raw root, and what is outside is not read; copy "
    "it (cp -rL), or name the folder that the link leads to as the raw root"
)
_NO_FILE = "is not a file but a pipe or a device; expected a file"


OnFiles = Callable[[int], object]
"""Callback that receives the number of files of each folder that is read."""


def no_progress(_files: int, /) -> None:
    """Callback that ignores progress."""


@dataclass(frozen=True, kw_only=True)
class TreeSnapshot:
    """Snapshot of the files below a folder.

    Attributes:
        root: the folder, with all links resolved.
        states: path relative to the root, with forward slashes -> state; in a fixed order.
        blocked_files: path of each file that must not be read -> reason.
        linked: whether it contains a link, so that the content of a subfolder cannot be determined
            without another snapshot.
        settled: whether every later change will be noticed. False while files are being written, or
            if the clock of a file server is ahead of ours.
    """

    root: Path
    states: StateTable
    blocked_files: Mapping[str, str]
    linked: bool
    settled: bool

    @cached_property
    def digest(self) -> str:
        """Hash of the whole snapshot; equal digests mean that no file has changed."""
        return _digest(self.states, self.blocked_files)

    @cached_property
    def visible_tree(self) -> RawTree:
        """The tree as adapters see it."""
        return RawTree(self.root, [*self.states, *self.blocked_files])

    def drop_listing(self) -> None:
        """Free the memory of ``visible_tree``, which is listed again when it is needed."""
        self.__dict__.pop("visible_tree", None)

    def changed(self, new_states: StateTable, gone: Collection[str]) -> TreeSnapshot:
        """Return the snapshot after some files were written and others deleted; reads no folder.

        Any other change since the snapshot was taken is left for the next snapshot to notice.

        Args:
            new_states: states of the written files, right after writing.
            gone: names of the deleted files.
        """
        states = self.states.changed(new_states, gone)
        if not _is_over(new_states, time.time_ns()):
            _await_tick(new_states)
        return TreeSnapshot(
            root=self.root,
            states=states,
            blocked_files={
                name: reason for name, reason in self.blocked_files.items() if name not in gone
            },
            linked=self.linked,
            settled=self.settled and _is_over(new_states, time.time_ns()),
        )

    def closed(self) -> TreeSnapshot:
        """Return a copy without files, if only its digest is still needed."""
        closed = replace(self, states=StateTable(), blocked_files={})
        closed.__dict__["digest"] = self.digest
        return closed

    def inside(self, folder: str) -> TreeSnapshot:
        """Return the snapshot of a subfolder; nothing is read again unless there are links."""
        if self.linked:
            return snapshot(self.root / folder)
        inner = TreeSnapshot(
            root=self.root / folder,
            states=self.states.below(folder),
            blocked_files=_below(self.blocked_files, folder),
            linked=False,
            settled=self.settled,
        )
        inner.__dict__["visible_tree"] = self.visible_tree.inside(
            folder
        )  # reuse what is known about its globs
        return inner

    def state(self, path: Path) -> FileState | None:
        """Return the state of a file relative to the root; ``None`` if the snapshot has none."""
        name = os.fspath(path)[len(os.fspath(self.root)) + 1 :]
        return self.states.get(name.replace(os.sep, "/"))


def snapshot(root: Path, tell: OnFiles = no_progress) -> TreeSnapshot:
    """Take a snapshot of a tree without opening a file; a missing folder is empty.

    Linked folders are followed, each real folder once; broken links are ignored. A file outside the
    root that a link leads to is barred, and so is anything that is not a regular file: an archive
    from the network can contain a link to any file of this machine, which would end up in an image,
    and a pipe never ends.
    """
    return _take_snapshot(Path(os.path.realpath(root)), partial(_walk, tell=tell))


def snapshot_parent(
    inner: TreeSnapshot, folder: Path, most: int, tell: OnFiles = no_progress
) -> TreeSnapshot | None:
    """Take a snapshot of a parent folder of a tree; the files of the tree are not read again.

    Args:
        inner: snapshot of a tree below ``folder``.
        folder: the parent, with all links resolved.
        most: most files allowed outside the tree.
        tell: called with the number of files of each folder that is read.

    Returns:
        The snapshot of ``folder``, or ``None`` if it has more files.
    """
    inner_files = len(inner.states) + len(inner.blocked_files)
    for reused in (None,) if inner.linked else (inner, None):
        limit = most if reused else most + inner_files
        try:
            tree = _take_snapshot(folder, partial(_walk, tell=tell, inner=reused, most=limit))
        except _TooManyError:
            return None
        except _LinkedError:  # only links into the known tree
            continue
        return replace(tree, settled=tree.settled and (reused is None or reused.settled))
    return None


def file_state(path: Path) -> FileState | None:
    """Return the state of one file; ``None`` if it does not exist."""
    try:
        return FileState.of(path.stat())
    except OSError:
        return None


class _TooManyError(Exception):
    """A folder contains more files than allowed."""


class _LinkedError(Exception):
    """A link may lead into the known tree."""


class _Entry(NamedTuple):
    """A directory entry that is not a folder; valid until the next one is requested.

    ``inside`` states whether its folder lies below the root, ``by_link`` whether it was reached by
    a link.
    """

    name: str
    path: str
    entry: os.DirEntry[str]
    inside: bool
    by_link: bool


class _Walk(NamedTuple):
    """Result of one walk."""

    states: StateTable
    blocked_files: dict[str, str]
    linked: bool


def _take_snapshot(root: Path, looked: Callable[[str], _Walk]) -> TreeSnapshot:
    """Return the snapshot that ``looked`` takes, retaken if its youngest file is too young."""
    for wait in (True, False):
        started = time.time_ns()
        states, blocked_files, linked = looked(os.fspath(root))
        settled = _is_over(states, started)
        if settled or not wait:
            break
        _await_tick(states)
    return TreeSnapshot(
        root=root, states=states, blocked_files=blocked_files, linked=linked, settled=settled
    )


def _is_over(states: StateTable, now: int) -> bool:
    """Whether the clock tick of the youngest file is over, so that later changes are noticed."""
    return states.last_change() < now - _TICK_NS


def _await_tick(states: StateTable) -> None:
    """Wait until the tick of the youngest file is over, or it is known to have a wrong time."""
    rest = states.last_change() + _TICK_NS + 1_000_000 - time.time_ns()
    time.sleep(min(max(rest, 0), _LONGEST_WAIT_NS) / 1e9)


def _walk(
    root: str, tell: OnFiles, inner: TreeSnapshot | None = None, most: int | None = None
) -> _Walk:
    blocked_files: dict[str, str] = {}
    linked = False

    def states() -> Iterator[tuple[str, bytes]]:
        nonlocal linked
        for number, part in enumerate(_entries(root, tell, inner)):
            if isinstance(part, str):
                if inner is not None:
                    yield from inner.states.above(part)
                    blocked_files.update(
                        (f"{part}{file}", why) for file, why in inner.blocked_files.items()
                    )
                continue
            linked = linked or part.by_link or part.entry.is_symlink()
            if linked and inner is not None:
                raise _LinkedError
            if most is not None and number > most:
                raise _TooManyError
            state = _state_of(part, root, blocked_files)
            if state is not None:
                yield part.name, state

    return _Walk(StateTable(states()), blocked_files, linked)


def _state_of(part: _Entry, root: str, blocked_files: dict[str, str]) -> bytes | None:
    """Return the packed state of a file; ``None`` if there is none, or it must not be read."""
    name, path, entry, inside, _ = part
    try:
        status = entry.stat()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            blocked_files[name] = f"cannot be accessed ({error.strerror}); make it readable"
        return None
    if not inside or (entry.is_symlink() and not _is_within(path, root)):
        blocked_files[name] = _OUTSIDE
    elif not stat.S_ISREG(status.st_mode):
        blocked_files[name] = _NO_FILE
    else:
        return packed_state(status)
    return None


def _entries(root: str, tell: OnFiles, inner: TreeSnapshot | None) -> Iterator[_Entry | str]:
    """Yield everything that is not a folder, in the order of ``raw_tree.walk_files``.

    In place of the known tree, its path is yielded, with a slash at the end.
    """
    place = "" if inner is None else os.fspath(inner.root)
    visited: set[tuple[int, int]] = set()
    todo = [(root, "", True, False)]
    while todo:
        folder, prefix, inside, by_link = todo.pop()
        if folder == place:
            yield prefix
            continue
        with _open_folder(folder) as handle:
            try:
                identity = os.fstat(handle)
                with os.scandir(handle) as directory:
                    entries = sorted(directory, key=attrgetter("name"), reverse=True)
            except OSError:  # missing or not permitted, which the cases will report
                continue
            if (identity.st_dev, identity.st_ino) in visited:
                continue
            visited.add((identity.st_dev, identity.st_ino))
            folders: list[tuple[str, str, bool, bool]] = []
            count = len(entries)
            while entries:
                entry = entries.pop()  # an entry keeps its ``stat``, 700 bytes, as long as it lives
                path = f"{folder}/{entry.name}"
                if _is_folder(entry):
                    is_link = entry.is_symlink()
                    within = (inside and not is_link) or _is_within(path, root)
                    folders.append((path, f"{prefix}{entry.name}/", within, by_link or is_link))
                else:
                    yield _Entry(f"{prefix}{entry.name}", path, entry, inside, by_link)
        tell(count - len(folders))
        todo.extend(reversed(folders))


@contextmanager
def _open_folder(folder: str) -> Iterator[int]:
    """Yield a handle of a folder, from which its files are looked up by name alone; -1 if none."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield -1
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # circular link
        return False


def _is_within(path: str, root: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root)


def _below(blocked_files: Mapping[str, str], folder: str) -> dict[str, str]:
    start = len(folder) + 1
    return {
        name[start:]: reason
        for name, reason in blocked_files.items()
        if name.startswith(f"{folder}/")
    }


def _digest(states: StateTable, blocked_files: Mapping[str, str]) -> str:
    names, packed = states.by_name()
    digest = hashlib.sha256()
    for part in name_batches(names):
        digest.update(os.fsencode("\0".join(part)) + b"\0")
    digest.update(b"\n")
    digest.update(packed)
    for name, reason in sorted(blocked_files.items()):
        digest.update(os.fsencode(f"{name}\0{reason}\n"))
    return digest.hexdigest()
