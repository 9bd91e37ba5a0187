"""Cache of the last two files: regions of one case are often in the same file."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

__all__ = ["cache_last_files"]

Arguments = ParamSpec("Arguments")
Content = TypeVar("Content")

_FILES = 2


def cache_last_files(reader: Callable[Arguments, Content]) -> Callable[Arguments, Content]:
    """Cache the results of a reader for its last two files, as long as they do not change.

    Results are shared: nobody may write to them.

    Args:
        reader: a function whose first argument is the path of the file.
    """

    def read(_stamp: tuple[int, int], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Content:
        return reader(*args, **kwargs)

    cached: Callable[..., Content] = lru_cache(maxsize=_FILES)(read)

    @wraps(reader)
    def remembered(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Content:
        path = args[0]
        if not isinstance(path, Path):
            raise TypeError(f"{reader.__name__}: the first argument must be the path of a file")
        status = path.stat()
        return cached((status.st_size, status.st_mtime_ns), *args, **kwargs)

    return remembered
