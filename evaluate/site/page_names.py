"""File names of the pages of a site: short, plain and unique."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = ["CellName", "model_pages"]

_LONGEST = 60


class CellName(NamedTuple):
    """A voxel of the cube."""

    task: Task
    modality: Modality
    parts: Anatomy

    @property
    def page(self) -> str:
        """File name of its page below ``cells``."""
        return "--".join(_plain(member.value) for member in self) + ".html"


def model_pages(labels: Iterable[str]) -> dict[str, str]:
    """File name below ``models`` for each label; equal names get a number."""
    pages: dict[str, str] = {}
    used: set[str] = set()
    for label in labels:
        plain = _plain(label)[:_LONGEST].strip("-") or "model"
        name, number = plain, 1
        while name in used:
            number += 1
            name = f"{plain}-{number}"
        used.add(name)
        pages[label] = f"{name}.html"
    return pages


def _plain(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
