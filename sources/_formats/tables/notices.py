"""Notices of table readers about a whole file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from medrcube.facts import Skip

__all__ = ["add_notice", "collect_notices"]

_noticed: ContextVar[list[Skip] | None] = ContextVar("noticed", default=None)


@contextmanager
def collect_notices() -> Iterator[list[Skip]]:
    """Collect the notices issued within the block."""
    notices: list[Skip] = []
    before = _noticed.set(notices)
    try:
        yield notices
    finally:
        _noticed.reset(before)


def add_notice(skip: Skip) -> None:
    """Issue a notice; it is dropped outside ``collect_notices``."""
    notices = _noticed.get()
    if notices is not None and skip not in notices:
        notices.append(skip)
