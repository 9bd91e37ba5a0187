"""Image readers: one raw file to one ``Volume``; the reader is chosen by content, not by name."""

from __future__ import annotations

from medrcube.build.readers.detect_format import read
from medrcube.build.readers.masks import check_axes, check_grids, check_stored_alike, read_mask

__all__ = [
    "check_axes",
    "check_grids",
    "check_stored_alike",
    "last_files_cache",
    "masks",
    "read",
    "read_errors",
    "read_mask",
]
