"""Public and private edition of a release: checksum lists and the mark of private trees.

Both editions of a release hold the same files, except for restricted images and the file that marks
a private tree. ``SHA256SUMS`` lists what both hold, so that ``sha256sum -c SHA256SUMS`` passes on
either; ``SHA256SUMS.restricted`` lists the rest. A public tree with reconstructed images is
therefore the private one, byte for byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from medrcube.errors import ReleaseError
from medrcube.files.atomic import sha256_of, write_text
from medrcube.release_format.tree import open_file, stat_file

__all__ = ["PRIVATE", "RESTRICTED_SUMS", "SUMS", "mark_private", "write_sums"]

SUMS = "SHA256SUMS"
"""Digests of the files of both editions."""

RESTRICTED_SUMS = "SHA256SUMS.restricted"
"""Digests of what only a private tree holds; this list is in both editions if there are such files.
"""

PRIVATE = "PRIVATE.md"
"""File that marks a private tree."""

PRIVATE_TEXT = """\
# Private: do not share

This tree holds images whose licences do not allow passing them on. `SHA256SUMS.restricted` lists
them. Without them and without this file it is the public edition, which may be shared.
"""

_TEXTS = (PRIVATE_TEXT, PRIVATE_TEXT.replace("images", "pictures"))
"""The text of the mark, now and in format 1. Releases list its digest: keep every word."""

_LARGEST_LIST = 2**28


def mark_private(tree: Path) -> None:
    """Mark a tree as private; does nothing if it is already marked.

    The text is the one whose digest the release lists, which makes the tree the private edition.

    Raises:
        WorkspaceError: the tree cannot be written.
    """
    mark = tree / PRIVATE
    if mark.is_symlink() or not mark.is_file():
        listed = _listed_digest(tree)
        text = next((text for text in _TEXTS if _digest(text) == listed), PRIVATE_TEXT)
        write_text(mark, text)


def _listed_digest(tree: Path) -> str:
    """Return the digest of the mark in the private edition's list; empty if it has none."""
    try:
        if stat_file(tree, tree / RESTRICTED_SUMS) is None:
            return ""
        with open_file(tree, tree / RESTRICTED_SUMS, largest=_LARGEST_LIST) as file:
            lines = (line.decode("utf-8", "replace").split() for line in file)
            return next((line[0] for line in lines if line[1:] == [PRIVATE]), "")
    except ReleaseError:
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write_sums(tree: Path, restricted: Mapping[str, str]) -> None:
    """Write the checksum lists of a new tree, identical in both editions.

    Args:
        tree: a release with all its other files.
        restricted: path in the tree -> digest of each file with images that may not be
            redistributed, whether the tree holds it or not.
    """
    if restricted:
        _write(tree / RESTRICTED_SUMS, {**restricted, PRIVATE: _digest(PRIVATE_TEXT)})
    names = (path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file())
    _write(
        tree / SUMS,
        {name: sha256_of(tree / name) for name in names if name not in {*restricted, PRIVATE}},
    )


def _write(path: Path, sums: Mapping[str, str]) -> None:
    lines = [f"{digest}  {name}\n" for name, digest in sorted(sums.items())]
    path.write_text("".join(lines), encoding="utf-8")
