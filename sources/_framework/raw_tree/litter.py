"""Litter: files of operating systems and downloads that are not part of any dataset."""

from __future__ import annotations

import re

__all__ = ["is_litter"]

_FOLDERS = frozenset(
    {
        *("__MACOSX", ".AppleDouble", ".Spotlight-V100", ".Trashes", ".fseventsd"),  # macOS
        *("$RECYCLE.BIN", "System Volume Information"),  # Windows
        *("@eaDir", "#recycle", ".snapshot"),  # file servers
        *(".git", ".cache", ".ipynb_checkpoints"),  # downloads of repositories, notebooks
    }
)
_FILE = re.compile(
    r"""
      \._.*                                                  # AppleDouble: macOS metadata
    | \.DS_Store | \.localized | Icon\r
    | Thumbs\.db | ehthumbs\.db | desktop\.ini
    | ~\$.* | \.~lock\..*                                    # locks of office programs
    | medrcube-get\.json | .*\.part\.etag                      # what  sources get  writes
    | \.git(?:attributes|ignore|keep) | \.nfs[0-9a-f]+
    | (?:index\.html|robots\.txt)(?:\?.*)?                   # what wget -r adds
    | (?:md5|sha1|sha256|sha512)(?:sums?)?(?:\.txt)?         # checksums
    | checksums?(?:\.txt)? | .*\.(?:md5|sha1|sha256|sha512)
    | (?:licen[cs]e|copying)(?:\.(?:txt|md|pdf|html|rst))?   # licences
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_litter(name: str) -> bool:
    """Whether a file was left by an operating system, a download or a hosting service.

    Args:
        name: path relative to the raw root, with forward slashes.
    """
    *folders, file = name.split("/")
    return not _FOLDERS.isdisjoint(folders) or _FILE.fullmatch(file) is not None
