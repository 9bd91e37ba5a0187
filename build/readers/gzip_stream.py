"""Gzip stream: ISA-L if installed (twice as fast), else Python's zlib.

libdeflate is as fast but needs the whole file, so that the compressed bytes are in memory in
addition to the volume.
"""

from __future__ import annotations

import zlib
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import Any, BinaryIO, cast

try:
    from isal import igzip, isal_zlib
except ModuleNotFoundError:
    _FILE: type[GzipFile] = GzipFile
    _ERROR: Any = zlib.error
else:
    _FILE, _ERROR = igzip.IGzipFile, isal_zlib.error

__all__ = ["DAMAGE", "open_gzip"]

DAMAGE: tuple[type[Exception], ...] = (BadGzipFile, _ERROR)
"""Exceptions raised on damaged gzip, in addition to ``EOFError`` on truncation."""


def open_gzip(path: Path) -> BinaryIO:
    """Open the content of a gzip file, to be read from its start."""
    return cast("BinaryIO", _FILE(path, "rb"))
