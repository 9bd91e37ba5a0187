"""File names of a site's pages: short, plain and unique."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.word import Word, shipped_words

__all__ = ["CellName", "model_pages"]

_LONGEST = 60


class CellName(NamedTuple):
    """A cell of the cube."""

    task: Task
    modality: Modality
    parts: Anatomy

    @property
    def page(self) -> str:
        """File name of its page below ``cells``."""
        return "--".join(map(_part, self)) + ".html"


def model_pages(labels: Iterable[str]) -> dict[str, str]:
    """Return the file name below ``models`` for each label; equal names get a number."""
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


def _part(word: Word) -> str:
    """Return a word for a file name; third-party words may differ only in special characters."""
    if word in shipped_words(type(word)):
        return _plain(word)
    digest = hashlib.sha256(word.encode()).hexdigest()[:8]
    return f"{_plain(word)[:_LONGEST].strip('-')}-{digest}".lstrip("-")


def _plain(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
