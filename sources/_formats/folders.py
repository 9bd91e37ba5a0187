"""Files grouped by a number or name that one of their folders states."""

from __future__ import annotations

import re
from pathlib import Path

from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = ["group_by_folder"]


def group_by_folder(root: RawTree, part: str, folder: re.Pattern[str]) -> dict[str, list[Path]]:
    """Files of a part by what the first group of ``folder`` finds in the name of a folder.

    The outermost folder that fits counts; a file in none goes by the name of its own folder.
    """
    groups: dict[str, list[Path]] = {}
    for path in root.part(part):
        fits = (folder.fullmatch(name) for name in path.relative_to(root.path).parts[:-1])
        name = next((fit[1] for fit in fits if fit), path.parent.name)
        groups.setdefault(name, []).append(path)
    return groups
