"""Raw root detection: in the given folder, or a few levels below or above it.

Archives and downloads of repositories unpack into a folder of their own, and people name the
folder of the images where the root was meant. A folder above is taken only where a layout names
the folder given, or where all that is missing lies directly in the one above, as the tables of a
dataset do, so that no other dataset that lies beside it is ever read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from medrcube.errors import SourceError
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.raw_tree.globs import compile_glob, expand_braces, other_format
from medrcube.sources._framework.raw_tree.raw_tree import RawTree, walk_files

__all__ = ["describe_root", "find_root", "folders_below"]

LEVELS = 3
"""How far below the folder given the root may lie: the folder of a download, of an archive in it,
and the one that the archive was unpacked into."""
_ABOVE = 2
"""How far above it."""

_MOST_ABOVE = 500_000
"""A folder above with more files than this beside the one given holds more than one dataset."""


ParentLister = Callable[[Path, RawTree, int], RawTree | None]
"""Sees a folder above a tree: the folder, the tree, and the most files that may lie beside it."""


def list_parent(folder: Path, tree: RawTree, most: int) -> RawTree | None:
    """The tree of a parent folder; ``None`` where more than ``most`` files lie beside ``tree``."""
    most += len(tree.names) + tree.litter
    names = list(islice(walk_files(folder), most + 1))
    return RawTree(folder, names) if len(names) <= most else None


def find_root(card: Card, tree: RawTree, around: ParentLister = list_parent) -> RawTree:
    """The part of a tree, or the tree around it, that a layout of the card fits.

    Args:
        card: card of the source.
        tree: the folder given.
        around: how a folder above is seen; one that knows what the tree holds saves a listing.

    Returns:
        The tree below the root; the one given where no root is found.

    Raises:
        SourceError: the layouts fit several folders below the one given.
    """
    if fits_layout(card, tree):
        return tree
    below = [
        folder for folder in folders_below(card, tree) if fits_layout(card, tree.inside(folder))
    ]
    outer = [
        folder for folder in below if not any(folder.startswith(f"{other}/") for other in below)
    ]
    if len(outer) > 1:
        raise SourceError(
            f"{card.id}: {tree.path} holds {len(outer)} copies ({', '.join(outer)}); expected one: "
            f"name the folder to take, such as {tree.path / outer[0]}"
        )
    if outer:
        return tree.inside(outer[0])
    return next(_above(card, tree, around), tree)


def fits_layout(card: Card, tree: RawTree) -> bool:
    """Whether the tree has every file that a layout needs."""
    return any(
        not layout.missing([glob for glob in layout.expect if tree.holds(glob)])
        for layout in card.layouts
    )


def folders_below(card: Card, tree: RawTree) -> list[str]:
    """Folders up to ``LEVELS`` below in which a glob of a layout would begin to fit."""
    globs = {glob for layout in card.layouts for glob in layout.expect if glob[:3] != "**/"}
    if not globs:
        return []
    shapes = sorted(shape for glob in globs for shape in (glob, *other_format(glob)))
    pattern = re.compile("|".join(compile_glob(glob).pattern for glob in shapes))
    folders: set[str] = set()
    for name in tree.names:
        for end in islice((slash.start() for slash in re.finditer("/", name)), LEVELS):
            if name[:end] not in folders and pattern.fullmatch(name, end + 1):
                folders.add(name[:end])
    return sorted(folders)


def describe_root(given: Path, root: Path) -> str:
    """Message that names a root other than the given folder; empty if they are the same."""
    given = given.resolve()
    if given == root:
        return ""
    where = "below" if root.is_relative_to(given) else "above"
    return f"read from {root}, {where} the folder given ({given})"


def _above(card: Card, tree: RawTree, around: ParentLister) -> Iterator[RawTree]:
    for parent in tree.path.parents[:_ABOVE]:
        if parent in (Path(parent.anchor), Path.home()):
            return
        prefix = tree.path.relative_to(parent).parts
        if not _names_folder(card, tree, prefix) and not _holds_rest(card, tree, parent):
            continue
        outer = around(parent, tree, _MOST_ABOVE)
        if outer is not None and fits_layout(card, outer):
            yield outer


def _holds_rest(card: Card, tree: RawTree, parent: Path) -> bool:
    """Whether a layout fits in part, and the files that it lacks lie directly in the parent."""
    try:
        with os.scandir(parent) as entries:
            beside = RawTree(parent, [entry.name for entry in entries if entry.is_file()])
    except OSError:  # not ours to list
        return False
    for layout in card.layouts:
        present = [glob for glob in layout.expect if tree.holds(glob)]
        missing = layout.missing(present)
        if present and missing and all(_is_named(glob) and beside.holds(glob) for glob in missing):
            return True
    return False


def _is_named(glob: str) -> bool:
    """Whether a glob tells more of a file than its extension."""
    return not glob.rpartition("/")[2].startswith("*.")


def _names_folder(card: Card, tree: RawTree, prefix: Sequence[str]) -> bool:
    """Whether a glob fits files of the tree only with the names of the folders above them."""
    globs = {
        plain_glob
        for layout in card.layouts
        for glob in layout.expect
        for plain_glob in expand_braces(glob)
    }
    for glob in sorted(globs):
        for rest in sorted(_rests(glob, prefix)):
            alone = set(tree.match(glob))
            if any(name not in alone for name in tree.match(rest)):
                return True
    return False


def _rests(glob: str, folders: Sequence[str]) -> set[str]:
    """What is left of a glob once its first parts have fitted some folders.

    ``**/Videos/*.avi`` leaves ``*.avi`` below ``Videos``.
    """
    parts = glob.split("/")
    places = _or_after(parts, {0})
    for folder in folders:
        fitted = {
            place if parts[place] == "**" else place + 1
            for place in places
            if parts[place] == "**" or compile_glob(parts[place]).fullmatch(folder)
        }
        places = _or_after(parts, fitted)
    return {"/".join(parts[place:]) for place in places} - {glob}


def _or_after(parts: Sequence[str], places: set[int]) -> set[int]:
    """Places in a glob, and those after each ``**``, which may stand for no folder at all."""
    reached = set(places)
    for place, part in enumerate(parts[:-1]):
        if part == "**" and place in reached:
            reached.add(place + 1)
    return {place for place in reached if place < len(parts)}
