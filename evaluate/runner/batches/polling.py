"""Polling intervals for batches."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Polling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Polling:
    """How patiently batches are looked after.

    Attributes:
        first: seconds until the first look.
        growth: factor of each further wait.
        longest: upper bound of a wait.
        settled: seconds after which a batch that was sent would show in the list of the provider.
        unreachable: seconds without any answer after which the session ends; batches go on.
    """

    first: float = 10.0
    growth: float = 1.5
    longest: float = 300.0
    settled: float = 120.0
    unreachable: float = 3600.0
