"""ASCII paths: symbolic links for file names that are not UTF-8, which ITK and PyAV cannot open."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from medrcube.names import has_raw_bytes

__all__ = ["ascii_path"]


@contextmanager
def ascii_path(path: Path, beside: Sequence[str] = ()) -> Iterator[Path]:
    """Yield the path of a file, or a link to it if a part of its path is not valid UTF-8.

    Args:
        path: the file.
        beside: names of files in the same folder that are read together with it.
    """
    if not has_raw_bytes(str(path)):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="medrcube-") as folder:
        for name in beside:
            (Path(folder) / name).symlink_to(path.with_name(name).absolute())
        link = Path(folder) / f"file{path.suffix}"
        link.symlink_to(path.absolute())
        yield link
