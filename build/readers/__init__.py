"""Image readers: one raw file to one ``Volume``; the reader is chosen by content, not by name."""

from __future__ import annotations

from medrcube.build.readers.detect_format import read
from medrcube.build.readers.masks import check_axes, check_grids, check_stored_alike, read_mask

__all__ = [
    "ascii_paths",
    "check_axes",
    "check_grids",
    "check_stored_alike",
    "deflate",
    "last_files_cache",
    "masks",
    "non_finite",
    "read",
    "read_errors",
    "read_mask",
]
