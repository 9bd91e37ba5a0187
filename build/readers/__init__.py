"""Readers: one raw file to one ``Volume``, chosen by what the file holds, not by its name."""

from __future__ import annotations

from medrcube.build.readers.dispatch import read
from medrcube.build.readers.masks import check_grids, read_mask

__all__ = ["check_grids", "read", "read_mask"]
