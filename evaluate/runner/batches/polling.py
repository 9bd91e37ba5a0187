"""Polling intervals for batches."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Polling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Polling:
    """Polling intervals.

    Attributes:
        first: seconds until the first poll.
        growth: factor of each further interval.
        longest: longest interval in seconds.
        settled: seconds after which a sent batch must appear in the provider's list.
        unreachable: seconds without any response after which the session ends; the batches stay
            open.
    """

    first: float = 10.0
    growth: float = 1.5
    longest: float = 300.0
    settled: float = 120.0
    unreachable: float = 3600.0
