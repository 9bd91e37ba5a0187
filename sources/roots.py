"""Where the raw root of a copy lies: in the folder given, or up to two levels below or above it.

Archives and downloads of repositories unpack into a folder of their own, and people name the
folder of the pictures where the root was meant. A folder above is taken only where a layout names
the folder given, or where all that is missing lies directly in the one above, as the tables of a
dataset do, so that no other dataset that lies beside it is ever read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from medrcube.errors import SourceError
from medrcube.sources.card import Card
from medrcube.sources.raw_tree import RawTree, alternatives, compile_glob, resaved, walk

LEVELS = 2
"""How far the root may lie from the folder given."""

_MOST_ABOVE = 500_000
"""A folder above with more files than this beside the one given holds more than one dataset."""


def find_root(card: Card, tree: RawTree) -> RawTree:
    """The part of a tree, or the tree around it, that a layout of the card fits.

    Args:
        card: card of the source.
        tree: the folder given.

    Returns:
        The tree below the root; the one given where no root is found.

    Raises:
        SourceError: the layouts fit several folders below the one given.
    """
    if fits(card, tree):
        return tree
    below = [folder for folder in folders_below(card, tree) if fits(card, tree.inside(folder))]
    outer = [it for it in below if not any(it.startswith(f"{other}/") for other in below)]
    if len(outer) > 1:
        raise SourceError(
            f"{card.id}: {tree.path} holds {len(outer)} copies ({', '.join(outer)}); expected one: "
            f"name the folder to take, such as {tree.path / outer[0]}"
        )
    if outer:
        return tree.inside(outer[0])
    return next(_above(card, tree), tree)


def fits(card: Card, tree: RawTree) -> bool:
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
    shapes = sorted(it for glob in globs for it in (glob, *resaved(glob)))
    pattern = re.compile("|".join(compile_glob(glob).pattern for glob in shapes))
    found: set[str] = set()
    for name in tree.names:
        for end in islice((it.start() for it in re.finditer("/", name)), LEVELS):
            if name[:end] not in found and pattern.fullmatch(name, end + 1):
                found.add(name[:end])
    return sorted(found)


def describe_root(given: Path, root: Path) -> str:
    """What was taken in place of the folder given; empty where that was taken."""
    given = given.resolve()
    if given == root:
        return ""
    where = "below" if root.is_relative_to(given) else "above"
    return f"read from {root}, {where} the folder given ({given})"


def _above(card: Card, tree: RawTree) -> Iterator[RawTree]:
    for parent in tree.path.parents[:LEVELS]:
        if parent in (Path(parent.anchor), Path.home()):
            return
        prefix = f"{tree.path.relative_to(parent).as_posix()}/"
        if not _holds_rest(card, tree, parent) and not _names_folder(card, tree, prefix):
            continue
        most = len(tree.names) + tree.litter + _MOST_ABOVE
        names = list(islice(walk(parent), most + 1))
        around = RawTree(parent, names)
        if len(names) <= most and fits(card, around):
            yield around


def _holds_rest(card: Card, tree: RawTree, parent: Path) -> bool:
    """Whether a layout fits in part, and the files that it lacks lie directly in the parent."""
    try:
        with os.scandir(parent) as entries:
            beside = RawTree(parent, [it.name for it in entries if it.is_file()])
    except OSError:  # not ours to list
        return False
    for layout in card.layouts:
        found = [glob for glob in layout.expect if tree.holds(glob)]
        missing = layout.missing(found)
        if found and missing and all(_is_named(it) and beside.holds(it) for it in missing):
            return True
    return False


def _is_named(glob: str) -> bool:
    """Whether a glob tells more of a file than its extension."""
    return not glob.rpartition("/")[2].startswith("*.")


def _names_folder(card: Card, tree: RawTree, prefix: str) -> bool:
    """Whether a glob fits files of the tree only with the name of its folder."""
    globs = {glob for layout in card.layouts for glob in layout.expect}
    for shape in (
        one for glob in globs for it in (glob, *resaved(glob)) for one in alternatives(it)
    ):
        pattern = compile_glob(shape)
        if any(
            pattern.fullmatch(f"{prefix}{name}") and not pattern.fullmatch(name)
            for name in tree.names
        ):
            return True
    return False
