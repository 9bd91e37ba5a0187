"""File access to an untrusted release tree.

Nothing outside the tree is read, whatever its links and paths say; only regular files are opened,
since reading from a named pipe never ends; and JSON is read one row at a time, so that no table
takes more memory than its longest row.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from medrcube.errors import ReleaseError

__all__ = [
    "LARGEST_PICTURE",
    "OPEN_TABLE",
    "PICTURES",
    "TABLE",
    "dataset_name",
    "file_kind",
    "find_tables",
    "leaves_folder",
    "open_file",
    "safe_repr",
    "stat_file",
    "stored_in_cache",
]

TABLE = "test.json"
"""Table of one source, in the folder of the source."""

OPEN_TABLE = "open.json"
"""Table of one source's items without options, next to ``TABLE`` or alone."""

PICTURES = "pictures"
"""Folder of the images of one source."""

LARGEST_PICTURE = 256 * 2**20
"""Maximum size in bytes of an image file that is opened."""

_LIST_LIMIT = 100


def dataset_name(source: str) -> str:
    """Return the name of a source's folder in a release, such as ``BUSI``."""
    return source.upper()


def find_tables(root: Path) -> list[Path]:
    """Return every ``<SOURCE>/test.json`` and ``open.json`` directly below ``root``, by source.

    Includes entries that are not files.

    Raises:
        ReleaseError: ``root`` is not a readable folder, or contains no table.
    """
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        raise ReleaseError(
            f"{root}: cannot be read ({error.strerror}); expected the folder of a release"
        ) from None
    paths = (root / name / table for name in names for table in (TABLE, OPEN_TABLE))
    tables = [path for path in paths if os.path.lexists(path)]
    if not tables:
        raise ReleaseError(
            f"{root}: no <SOURCE>/test.json in it; expected the folder of a release, "
            "the one that holds a sub-folder for each source"
        )
    return tables


def stat_file(root: Path, path: Path) -> os.stat_result | None:
    """Return ``stat`` of the regular file that ``path`` leads to; ``None`` if there is none.

    Raises:
        ReleaseError: it is not a regular file, or a link leads out of the tree.
    """
    try:
        real = Path(os.path.realpath(path))
        state = real.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{_name(root, path)}: cannot be read ({error})") from None
    if not any(real.is_relative_to(place) for place in _places(root)):
        raise ReleaseError(
            f"{_name(root, path)}: a link leads out of the release; replace it with the file itself"
        )
    if not stat.S_ISREG(state.st_mode):
        raise ReleaseError(f"{_name(root, path)}: is {file_kind(state)}; expected a plain file")
    return state


@contextmanager
def open_file(root: Path, path: Path, *, largest: int | None = None) -> Iterator[io.BufferedReader]:
    """Open a regular file of a tree for reading.

    Args:
        root: folder of the release.
        path: the file.
        largest: maximum size in bytes.

    Raises:
        ReleaseError: it is missing, not a regular file, too large or unreadable, or a link leads
            out.
    """
    if stat_file(root, path) is None:
        raise ReleaseError(f"{_name(root, path)}: is missing")
    # The file may have been replaced by a pipe since the check: never block, check again.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = os.fdopen(os.open(path, flags), "rb")
    except OSError as error:
        raise ReleaseError(f"{_name(root, path)}: cannot be read ({error.strerror})") from None
    with file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise ReleaseError(f"{_name(root, path)}: is {file_kind(state)}; expected a plain file")
        if largest is not None and state.st_size > largest:
            raise ReleaseError(
                f"{_name(root, path)}: has {state.st_size:,} bytes; expected at most {largest:,}"
            )
        yield file


def file_kind(state: os.stat_result) -> str:
    """Describe the kind of a directory entry in words."""
    names = {
        stat.S_IFREG: "a plain file",
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
    }
    return names.get(stat.S_IFMT(state.st_mode), "a device")


def leaves_folder(value: str) -> bool:
    """Whether a path, written with ``/``, could lead out of the folder it is relative to."""
    return (
        not value
        or value.startswith("/")
        or ".." in PurePosixPath(value).parts
        or "\\" in value
        or re.match(r"[A-Za-z]:", value) is not None
        or not value.isprintable()
    )


def stored_in_cache(root: Path, path: Path) -> bool:
    """Whether a link belongs to a Hugging Face hub download, which stores files elsewhere."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(place) for place in _places(root)[1:])


def safe_repr(value: object) -> str:
    """Return a short ``repr`` of an untrusted value for messages, without control characters."""
    text = repr(value[: 2 * _LIST_LIMIT] if isinstance(value, (str, list)) else value)
    return text if len(text) <= _LIST_LIMIT else f"{text[: _LIST_LIMIT - 4]} ..."


def _name(root: Path, path: Path) -> str:
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return name if name.isprintable() else safe_repr(name)


def _places(root: Path) -> list[Path]:
    """Return where a release's files may be: its own folder, and the store of a hub download.

    ``huggingface_hub`` keeps ``<repository>/snapshots/<revision>/FILE`` as a link to
    ``<repository>/blobs/<digest>``. If the store is itself a link, no file resolves into it.
    """
    real = root.resolve()
    for folder in (real, *real.parents):
        if folder.parent.name == "snapshots":
            store = folder.parent.parent / "blobs"
            if store.is_dir():
                return [real, store]
    return [real]
