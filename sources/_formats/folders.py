"""Grouping of files by a number or name in their folder path."""

from __future__ import annotations

import re
from pathlib import Path

from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = ["group_by_folder"]


def group_by_folder(root: RawTree, part: str, folder: re.Pattern[str]) -> dict[str, list[Path]]:
    """Group the files of a part by the first group of ``folder`` in a folder name.

    The outermost matching folder counts; without a match, the name of the file's own folder is
    used.
    """
    groups: dict[str, list[Path]] = {}
    for path in root.part(part):
        fits = (folder.fullmatch(name) for name in root.name_of(path).split("/")[:-1])
        name = next((fit[1] for fit in fits if fit), path.parent.name)
        groups.setdefault(name, []).append(path)
    return groups
