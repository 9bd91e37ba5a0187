"""Checksum validation: every file of a tree against its checksum lists."""

from __future__ import annotations

import multiprocessing
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from medrcube.build.execution.main_guard import require_main_guard
from medrcube.build.execution.progress import Stages
from medrcube.build.release.editions.private_edition import PRIVATE, RESTRICTED_SUMS, SUMS
from medrcube.build.validation.findings import FaultLog
from medrcube.build.validation.png_check import FileCheck, check_files
from medrcube.build.validation.shard_check import check_shard
from medrcube.errors import ReleaseError
from medrcube.release_format.errata import FILE as ERRATA
from medrcube.release_format.shards import Shard
from medrcube.release_format.tree import (
    file_kind,
    leaves_folder,
    open_file,
    safe_repr,
    stored_in_cache,
)

__all__ = ["ChecksumLists", "check_tree_files", "compare_sums", "files_of", "read_sums"]

MOST_FILES = 2_000_000
"""Most files of a tree that are examined."""

_LARGEST_LIST = 2**28
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_BATCH = 32
_FEW = 64
"""Fewest files for which a second process is worthwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksumLists:
    """Content of the checksum lists.

    Attributes:
        shared: path -> digest of every file of both editions; ``None`` without ``SHA256SUMS``.
        restricted: path -> digest of files that only a private tree holds.
    """

    shared: Mapping[str, str] | None
    restricted: Mapping[str, str]


def files_of(root: Path, findings: FaultLog) -> frozenset[str]:
    """Return the paths of all regular files, with ``/``; record anything else as a fault."""
    files: set[str] = set()
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    _sort(root, f"{folder}{entry.name}", entry, (files, folders), findings)
        except OSError as error:
            findings.add("special", f"{safe_repr(folder)}: cannot be read ({error.strerror})")
        if len(files) + len(folders) > MOST_FILES:
            findings.add("too-many-files", f"more than {MOST_FILES:,} files")
            break
    return frozenset(files)


def check_tree_files(
    root: Path,
    files: frozenset[str],
    pictures: frozenset[str],
    stages: Stages,
    *,
    shards: Sequence[Shard],
    workers: int,
) -> Iterator[FileCheck]:
    """Read every file once, in processes: digests, and the pixels of images.

    Args:
        root: the tree.
        files: its files.
        pictures: those that are images.
        stages: progress display.
        shards: shards that are among the files; each image in them gets a check of its own.
        workers: number of processes.
    """
    plain = files - {shard.name for shard in shards}
    listed = [(name, name in pictures) for name in sorted(plain)]
    parts = [listed[at : at + _BATCH] for at in range(0, len(listed), _BATCH)]
    batches: list[_Batch] = [*shards, *parts]  # the longest first
    count = len(listed) + sum(1 + shard.images for shard in shards)
    with stages.stage("files", count) as advance:
        for batch_checks in _in_processes(root, batches, workers if count > _FEW else 1):
            yield from batch_checks
            advance(len(batch_checks))


def read_sums(root: Path, files: frozenset[str], findings: FaultLog) -> ChecksumLists:
    """Read the checksum lists of a tree."""
    shared = _list(root, SUMS, findings) if SUMS in files else None
    restricted = _list(root, RESTRICTED_SUMS, findings) if RESTRICTED_SUMS in files else {}
    return ChecksumLists(shared=shared, restricted=restricted)


def compare_sums(
    sums: ChecksumLists, checks: Mapping[str, FileCheck], findings: FaultLog, *, private: bool
) -> None:
    """Compare the lists with the files."""
    if sums.shared is None:
        return
    listed = {**sums.restricted, **sums.shared}
    for name in sorted(checks):
        if name in listed:
            if checks[name].sha256 not in {None, listed[name]}:
                findings.add("digest", name)
        elif name not in {SUMS, ERRATA}:  # errata are written after a release is sealed
            findings.add("file-extra", name)
    for name in sorted(set(sums.shared) - set(checks)):
        findings.add("file-missing", name)
    absent = sorted(set(sums.restricted) - set(checks) - {PRIVATE})
    if private and absent:
        findings.add("restricted-missing", absent[0], count=len(absent))


def _sort(
    root: Path,
    name: str,
    entry: os.DirEntry[str],
    collected: tuple[set[str], list[str]],
    findings: FaultLog,
) -> None:
    files, folders = collected
    if not name.isprintable():
        findings.add("file-name", safe_repr(name))
    elif entry.is_symlink():
        if stored_in_cache(root, root / name) and entry.is_file():
            files.add(name)
        else:
            findings.add("link", name)
    elif entry.is_dir(follow_symlinks=False):
        folders.append(f"{name}/")
    elif entry.is_file(follow_symlinks=False):
        files.add(name)
    else:
        state = entry.stat(follow_symlinks=False)
        findings.add("special", f"{name}: is {file_kind(state)} ({stat.filemode(state.st_mode)})")


def _list(root: Path, name: str, findings: FaultLog) -> dict[str, str]:
    sums: dict[str, str] = {}
    try:
        with open_file(root, root / name, largest=_LARGEST_LIST) as file:
            lines = file.read().decode().split("\n")
    except (ReleaseError, UnicodeDecodeError) as error:
        findings.add("sums", f"{name}: {error}")
        return sums
    for number, line in enumerate(lines[:-1] if not lines[-1] else lines, 1):
        match = _LINE.fullmatch(line)
        if match is None or leaves_folder(match[2]):
            findings.add("sums", f"{name} line {number}: {safe_repr(line)}")
        elif match[2] in sums:
            findings.add("sums", f"{name} line {number}: {match[2]} is listed twice")
        else:
            sums[match[2]] = match[1]
    return sums


_Batch = Shard | list[tuple[str, bool]]


def _check(root: Path, batch: _Batch) -> list[FileCheck]:
    return check_shard(root, batch) if isinstance(batch, Shard) else check_files(root, batch)


def _in_processes(root: Path, batches: Sequence[_Batch], workers: int) -> Iterator[list[FileCheck]]:
    if workers == 1:
        for batch in batches:
            yield _check(root, batch)
        return
    require_main_guard()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        try:
            yield from pool.map(_check, [root] * len(batches), batches)
        except BrokenProcessPool:
            raise ReleaseError(
                f"{root}: a process that decodes images was killed, for lack of memory or by "
                "a fault in a decoder; try again with  --workers 1"
            ) from None
