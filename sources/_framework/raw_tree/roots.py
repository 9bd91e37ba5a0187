"""Raw root detection: in the given folder, or a few levels below or above it.

Archives and repository downloads unpack into their own folder, and people pass the image folder
instead of the root. A parent folder is used only if a layout names the given folder, or if all
missing files lie directly in the parent, as the tables of a dataset do, so that a neighbouring
dataset is never read.
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
"""Maximum depth of the root below the given folder: the folder of a download, of an archive in it,
and the one that the archive was unpacked into."""
_ABOVE = 2
"""Maximum height of the root above the given folder."""

_MOST_ABOVE = 500_000
"""A parent with more files than this outside the given folder contains more than one dataset."""


ParentLister = Callable[[Path, RawTree, int], RawTree | None]
"""Lists a parent folder, given the folder, the tree and the maximum number of other files."""


def list_parent(folder: Path, tree: RawTree, most: int) -> RawTree | None:
    """Return the tree of a parent; ``None`` if it has over ``most`` files outside ``tree``."""
    most += len(tree.names) + tree.litter
    names = list(islice(walk_files(folder), most + 1))
    return RawTree(folder, names) if len(names) <= most else None


def find_root(card: Card, tree: RawTree, around: ParentLister = list_parent) -> RawTree:
    """Find the subtree, or the enclosing tree, that fits a layout of the card.

    Args:
        card: card of the source.
        tree: tree of the given folder.
        around: function that lists a parent folder; it may reuse the listing of ``tree``.

    Returns:
        The tree of the root; the given tree if no root is found.

    Raises:
        SourceError: layouts fit several folders below the given one.
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
    """Whether the tree has all required files of some layout."""
    return any(
        not layout.missing([glob for glob in layout.expect if tree.holds(glob)])
        for layout in card.layouts
    )


def folders_below(card: Card, tree: RawTree) -> list[str]:
    """Return folders up to ``LEVELS`` below that could be the start of a glob of a layout."""
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


def describe_root(folder: Path, root: Path) -> str:
    """Return a message that names the root if it is not the given folder; else empty."""
    folder = folder.resolve()
    if folder == root:
        return ""
    where = "below" if root.is_relative_to(folder) else "above"
    return f"read from {root}, {where} the folder given ({folder})"


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
    """Whether a layout fits in part and its missing files lie directly in the parent."""
    try:
        with os.scandir(parent) as entries:
            beside = RawTree(parent, [entry.name for entry in entries if entry.is_file()])
    except OSError:  # cannot be listed
        return False
    for layout in card.layouts:
        present = [glob for glob in layout.expect if tree.holds(glob)]
        missing = layout.missing(present)
        if present and missing and all(_is_named(glob) and beside.holds(glob) for glob in missing):
            return True
    return False


def _is_named(glob: str) -> bool:
    """Whether a glob specifies more than an extension."""
    return not glob.rpartition("/")[2].startswith("*.")


def _names_folder(card: Card, tree: RawTree, prefix: Sequence[str]) -> bool:
    """Whether a glob matches files only with the names of the parent folders prepended."""
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
    """Return the remainders of a glob after its first parts have matched some folders.

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
    """Return positions in a glob plus those after each ``**``, which may match no folder."""
    reached = set(places)
    for place, part in enumerate(parts[:-1]):
        if part == "**" and place in reached:
            reached.add(place + 1)
    return {place for place in reached if place < len(parts)}
