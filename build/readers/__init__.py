"""Readers: one raw file to one ``Volume``, chosen by what the file holds, not by its name."""

from __future__ import annotations

from medrcube.build.readers.dispatch import read
from medrcube.build.readers.masks import read_mask

__all__ = ["read", "read_mask"]
