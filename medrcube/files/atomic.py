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
"""File modes: readable by everyone who can reach the folder, and owner-only."""
OTHERS_WRITE = 0o022
"""Umask for every file and folder we create: no write permission for group and others."""
PARTIAL = ".partial"
"""Suffix of files being written; one left behind by a finished process can be deleted."""


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically: temporary file in the same folder, fsync, rename.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_again(path: Path, data: bytes) -> os.stat_result:
    """Write a reproducible file atomically, without waiting for the disk (no fsync).

    After a power failure it may be truncated; callers that record its size will notice.

    Returns:
        Its status after the rename, even if another file has taken its name since.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    with _partial_file(path, SHARED) as (handle, temporary):
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.replace(temporary, path)  # noqa: PTH105  # a path is not made of each name
        return os.fstat(handle)


def write_text(path: Path, text: str, *, mode: int = SHARED) -> None:
    """Write UTF-8 text atomically; lone surrogates, which models may emit, are escaped."""
    write_texts(path, (text,), mode=mode)


def write_texts(path: Path, texts: Iterable[str], *, mode: int = SHARED) -> None:
    """Write several texts in sequence, each as ``write_text`` does."""
    with replacing(path, mode=mode) as temporary, temporary.open("wb") as file:
        for text in texts:
            file.write(text.encode("utf-8", "backslashreplace"))


def private_folder(path: Path) -> None:
    """Create a folder with owner-only access, or restrict an existing one.

    Raises:
        WorkspaceError: it cannot be created, or belongs to another user.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.chmod(0o700)
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be made private ({error.strerror})") from error


def private_file(path: Path) -> None:
    """Create an empty file that only its owner can read, or restrict an existing one.

    Raises:
        WorkspaceError: it cannot be created, or belongs to another user.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE))
        path.chmod(PRIVATE)
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be made private ({error.strerror})") from error


@contextmanager
def replacing(path: Path, *, sync: bool = True, mode: int = SHARED) -> Iterator[Path]:
    """Yield a temporary path next to ``path`` that replaces it if the block succeeds.

    With ``sync``, the content is flushed to disk before the rename. ``mode`` applies from the first
    byte on, regardless of the umask.
    """
    with _partial_file(path, mode) as (_, temporary):
        yield Path(temporary)
        if sync:
            with open(temporary, "rb") as file:  # noqa: PTH123
                os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105


@contextmanager
def _partial_file(path: Path, mode: int) -> Iterator[tuple[int, str]]:
    """Yield a new open file and its path; if the block fails, the file is deleted."""
    try:
        handle, temporary = _new_file(path.parent, mode)
        try:
            yield handle, temporary
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108
            raise
        finally:
            os.close(handle)
    except OSError as error:
        raise WorkspaceError(
            f"{path}: cannot be written ({error.strerror}); is the folder writable and the "
            "disk not full?"
        ) from error


def _new_file(folder: Path, mode: int) -> tuple[int, str]:
    """Open a new temporary file in a folder, which is created if needed; return it and its path."""
    name = os.path.join(folder, f".{secrets.token_hex(8)}{PARTIAL}")  # noqa: PTH118
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(name, flags, PRIVATE)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(name, flags, PRIVATE)
    os.fchmod(handle, mode)
    return handle, name


def remove_partial_files(folder: Path, *, depth: int = 1) -> None:
    """Delete partial files left by a killed process in ``folder`` and ``depth`` levels below it."""
    for level in range(depth + 1):
        for rest in folder.glob(f"{'*/' * level}.*{PARTIAL}"):
            rest.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
