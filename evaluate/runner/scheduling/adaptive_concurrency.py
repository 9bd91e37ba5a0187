"""Adaptive concurrency limit: grows by probing, is cut when a server refuses.

Pure: no clock and no waiting; the caller passes events and times. The rule is slow start, then
multiplicative growth and cuts as in inspect_ai, with one addition: shortly after a refusal, no more
questions are sent than the server was serving when it refused. A server that serves four at a time
stays at four after its first refusals, and one that refuses everything is left alone until the
delay that it asked for is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["COOLDOWN", "CUT", "GROWTH", "IN_USE", "START", "ConcurrencyLimiter", "LimitChange"]

START = 16
"""Initial limit, unless the upper bound is lower."""

IN_USE = 0.8
"""Share of the limit that must have been in use for it to grow."""

CUT = 0.8
"""Factor applied to the limit after a refusal."""

GROWTH = 1.05
"""Factor applied after a clean round, once a refusal has ended the slow start."""

COOLDOWN = 15.0
"""Seconds in which refusals count as one episode, unless the server states a delay."""

_HISTORY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChange:
    """One change of the limit.

    Attributes:
        at: seconds since the start.
        limit: the limit from then on.
        why: ``start``, ``grown`` or ``refused``.
    """

    at: float
    limit: int
    why: str


@dataclass(slots=True, kw_only=True)
class ConcurrencyLimiter:
    """Adaptive limit on concurrent questions.

    A round is as many clean answers as the limit. Answers to questions that were refused before,
    and errors other than refusals, leave the limit unchanged.

    Attributes:
        highest: upper bound of the limit.
        fixed: keep the limit at ``highest``; waits after refusals still apply.
        limit: current maximum of concurrent questions.
        running: concurrent questions now.
        most: largest value of ``running`` so far.
        changes: the last thousand changes of the limit, including the start.
    """

    highest: int
    fixed: bool = False
    limit: int = field(init=False)
    running: int = field(default=0, init=False)
    most: int = field(default=0, init=False)
    changes: deque[LimitChange] = field(default_factory=lambda: deque(maxlen=_HISTORY), init=False)
    _slow_start: bool = field(default=True, init=False)
    _clean: int = field(default=0, init=False)
    _round_most: int = field(default=0, init=False)
    _cut_again: float = field(default=0.0, init=False)
    _grow_again: float = field(default=0.0, init=False)
    _served: int | None = field(default=None, init=False)
    _served_until: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.limit = self.highest if self.fixed else min(self.highest, START)
        self.changes.append(LimitChange(at=0.0, limit=self.limit, why="start"))

    def room(self, now: float) -> int:
        """Return how many more questions may be sent."""
        allowed = self.limit
        if self._served is not None and now < self._served_until:
            allowed = min(allowed, self._served)
        return max(0, allowed - self.running)

    def held_until(self, now: float) -> float | None:
        """Return the end of the pause after a refusal; ``None`` without one."""
        active = self._served is not None and now < self._served_until
        return self._served_until if active else None

    def note_request(self) -> None:
        """Record that a question was sent."""
        self.running += 1
        self.most = max(self.most, self.running)
        self._round_most = max(self._round_most, self.running)

    def answered(self, now: float, *, clean: bool) -> None:
        """Record a reply; ``clean`` if it is the first response to its question."""
        self.running -= 1
        self._clean += clean
        if self._clean >= self.limit:
            self._end_round(now)

    def failed(self) -> None:
        """Record that a question ended with neither a reply nor a refusal."""
        self.running -= 1

    def refused(self, now: float, *, wait: float, hinted: bool) -> None:
        """Record that the server refused with a rate limit.

        Args:
            now: seconds since the start.
            wait: seconds for which this question waits.
            hinted: whether the server stated that delay.
        """
        self.running -= 1
        # Questions still running were accepted: the server serves that many at a time.
        self._served = self.running
        self._served_until = max(self._served_until, now + wait)
        self._slow_start = False
        self._grow_again = now + max(wait, COOLDOWN)
        if now >= self._cut_again:
            self._cut_again = now + (wait if hinted else COOLDOWN)
            self._set(now, int(self.limit * CUT), "refused")
        self._new_round()

    def to_json(self) -> Mapping[str, object]:
        """Return the manifest entry: mode, bound, peak and every change."""
        return {
            "mode": "fixed" if self.fixed else "adaptive",
            "highest": self.highest,
            "most": self.most,
            "changes": [
                {"at": round(change.at, 1), "limit": change.limit, "why": change.why}
                for change in self.changes
            ],
        }

    def _end_round(self, now: float) -> None:
        used = self._round_most >= IN_USE * self.limit
        self._new_round()
        if used and now >= self._grow_again:
            grown = self.limit * (2.0 if self._slow_start else GROWTH)
            self._set(now, max(self.limit + 1, int(grown)), "grown")

    def _new_round(self) -> None:
        self._clean = 0
        self._round_most = self.running

    def _set(self, now: float, limit: int, why: str) -> None:
        limit = max(1, min(limit, self.highest))
        if limit != self.limit and not self.fixed:
            self.limit = limit
            self.changes.append(LimitChange(at=now, limit=limit, why=why))
