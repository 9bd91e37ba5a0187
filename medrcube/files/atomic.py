"""Atomic file writes, private files and digests."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from medrcube.errors import WorkspaceError

__all__ = [
    "OTHERS_WRITE",
    "PARTIAL",
    "PRIVATE",
    "SHARED",
    "private_file",
    "private_folder",
    "remove_partial_files",
    "replacing",
    "sha256_of",
    "write_again",
    "write_bytes",
    "write_text",
    "write_texts",
]

SHARED, PRIVATE = 0o644, 0o600
"""Modes of files: for whoever reaches the folder, and for their owner alone."""
OTHERS_WRITE = 0o022
"""What no file or folder of ours grants: writing for group and others, as a umask."""
PARTIAL = ".partial"
"""Suffix of files in the making; one that stands after its process has ended is rubbish."""


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically: temporary name in the same folder, fsync, rename.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_again(path: Path, data: bytes) -> None:
    """Write a file atomically that can be made again at any time, without waiting for the disk.

    After a power failure it may be short; whoever keeps a record of its size will notice.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    with _replacing(path, sync=False, mode=SHARED) as (handle, _), os.fdopen(handle, "wb") as file:
        file.write(data)


def write_text(path: Path, text: str, *, mode: int = SHARED) -> None:
    """Write UTF-8 text atomically; half of a surrogate pair, as models send, is escaped."""
    write_texts(path, (text,), mode=mode)


def write_texts(path: Path, texts: Iterable[str], *, mode: int = SHARED) -> None:
    """Write texts one after the other as ``write_text`` writes one."""
    with replacing(path, mode=mode) as temporary, temporary.open("wb") as file:
        for text in texts:
            file.write(text.encode("utf-8", "backslashreplace"))


def private_folder(path: Path) -> None:
    """Make a folder that its owner alone can enter; one that is there is closed to others.

    Raises:
        WorkspaceError: it cannot be made, or belongs to somebody else.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.chmod(0o700)
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be kept private ({error.strerror})") from error


def private_file(path: Path) -> None:
    """Make an empty file that its owner alone can read; one that is there is closed to others.

    Raises:
        WorkspaceError: it cannot be made, or belongs to somebody else.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE))
        path.chmod(PRIVATE)
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be kept private ({error.strerror})") from error


@contextmanager
def replacing(path: Path, *, sync: bool = True, mode: int = SHARED) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well.

    With ``sync`` the content is on the disk before the name changes. ``mode`` holds from the
    first byte on, whatever the umask.
    """
    with _replacing(path, sync=sync, mode=mode) as (handle, temporary):
        os.close(handle)
        yield Path(temporary)


@contextmanager
def _replacing(path: Path, *, sync: bool, mode: int) -> Iterator[tuple[int, str]]:
    """The same as an open file and its name; the block closes the file."""
    temporary = ""
    try:
        handle, temporary = _new_file(path.parent, mode)
        yield handle, temporary
        if sync:
            with open(temporary, "rb") as file:  # noqa: PTH123  # a path is not made of each name
                os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105
        temporary = ""
    except OSError as error:
        raise WorkspaceError(
            f"{path}: cannot be written ({error.strerror}); is the folder writable and the "
            "disk not full?"
        ) from error
    finally:
        if temporary:
            with suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108


def _new_file(folder: Path, mode: int) -> tuple[int, str]:
    """An open file that is new in a folder, and its name; the folder is made if need be."""
    name = os.path.join(folder, f".{secrets.token_hex(8)}{PARTIAL}")  # noqa: PTH118
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(name, flags, PRIVATE)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(name, flags, PRIVATE)
    os.fchmod(handle, mode)
    return handle, name


def remove_partial_files(folder: Path) -> None:
    """Remove what a killed process left half written in ``folder`` and its direct subfolders."""
    for pattern in (f".*{PARTIAL}", f"*/.*{PARTIAL}"):
        for rest in folder.glob(pattern):
            rest.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
