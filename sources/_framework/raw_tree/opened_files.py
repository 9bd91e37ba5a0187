"""Audit hook that records which files are opened."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["files_opened"]

_listening: list[set[Path]] = []


@contextmanager
def files_opened() -> Iterator[set[Path]]:
    """Collect the files opened within the block, except those that C libraries open."""
    _listen()
    opened: set[Path] = set()
    _listening.append(opened)
    try:
        yield opened
    finally:
        _listening.remove(opened)


@cache
def _listen() -> None:
    """Add the audit hook once; a process cannot remove it."""
    sys.addaudithook(_on_audit_event)


def _on_audit_event(event: str, values: tuple[Any, ...]) -> None:
    if event == "open" and _listening and isinstance(values[0], (str, bytes)):
        for opened in _listening:
            opened.add(Path(os.fsdecode(values[0])))
