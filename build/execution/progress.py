"""Progress protocol, and the number of usable processors."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["Stages", "usable_cores"]


class Stages(Protocol):
    """Progress display; ``medrcube.console.progress.Reporter`` implements it."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Any]:
        """Return a context whose value is called with the number of units done."""
        ...


def usable_cores() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
