"""Verbosity of one command: quiet, normal or verbose, as ``medrcube -q`` and ``-v`` set it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum

__all__ = ["Verbosity", "at_verbosity", "verbosity"]


class Verbosity(IntEnum):
    """How much a command writes for people."""

    QUIET = 0
    """Only results and errors: no progress, no hints."""
    NORMAL = 1
    VERBOSE = 2
    """Full lists, and the time taken by each stage."""


_CURRENT: ContextVar[Verbosity] = ContextVar("verbosity", default=Verbosity.NORMAL)


def verbosity() -> Verbosity:
    """Return the verbosity of the running command."""
    return _CURRENT.get()


@contextmanager
def at_verbosity(level: Verbosity) -> Iterator[None]:
    """Context manager that sets the verbosity."""
    token = _CURRENT.set(level)
    try:
        yield
    finally:
        _CURRENT.reset(token)
