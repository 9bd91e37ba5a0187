"""What the readers of tables have to say of a file as a whole, beside its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from medrcube.facts import Skip

__all__ = ["add_notice", "collect_notices"]

_noticed: ContextVar[list[Skip] | None] = ContextVar("noticed", default=None)


@contextmanager
def collect_notices() -> Iterator[list[Skip]]:
    """Gather every notice that is given meanwhile."""
    gathered: list[Skip] = []
    before = _noticed.set(gathered)
    try:
        yield gathered
    finally:
        _noticed.reset(before)


def add_notice(skip: Skip) -> None:
    """Tell whoever gathers; a reader on its own tells nobody."""
    gathered = _noticed.get()
    if gathered is not None and skip not in gathered:
        gathered.append(skip)
