"""Progress of a running evaluation, and its summary."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["FAILURE_GATE", "OnProgress", "Rate", "RunProgress", "RunSummary"]

FAILURE_GATE = 0.05
"""Share of questions without a reply above which a run counts as incomplete."""

_RECENT = 30.0
_MARKS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """Progress of a run.

    Attributes:
        total: distinct questions of the run, except those without an image.
        reused: of these, answered in an earlier session.
        done_count: finished in this session, including failed ones.
        failed: given up in this session.
        retries: number of retries.
        running: concurrent questions.
        limit: concurrency limit.
        rate: recent questions per second; ``None`` until known.
        cost: US dollars of all sessions; ``None`` without prices.
        note: the last problem, in words; empty without one.
        waiting: open batches, in words; empty when questions are asked one by one.
    """

    total: int
    reused: int
    done_count: int = 0
    failed: int = 0
    retries: int = 0
    running: int = 0
    limit: int = 0
    rate: float | None = None
    cost: float | None = None
    note: str = ""
    waiting: str = ""


OnProgress = Callable[[RunProgress], None]


@dataclass(slots=True)
class Rate:
    """Rate of finished questions over the last half minute."""

    _marks: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_MARKS))

    def at(self, now: float, done_count: int) -> float | None:
        """Return questions per second, given ``done_count`` finished questions at time ``now``."""
        marks = self._marks
        if not marks or now - marks[-1][0] >= _RECENT / _MARKS:
            marks.append((now, done_count))
        while now - marks[0][0] > _RECENT:
            marks.popleft()
        then, before = marks[0]
        return (done_count - before) / (now - then) if now > then and done_count > before else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """Summary of a run.

    Attributes:
        out: folder of the run.
        asked: questions selected.
        reused: answered in an earlier session.
        answered: answered in this session.
        failed: without a reply after all attempts.
        missing: without a usable image, never asked.
        unreached: later steps of chains whose conversation broke off before them.
        shared: identical to another in text and image, so that one reply serves both.
        left_out: items that were selected but are not part of the run, by reason.
        ends: states of the questions over all sessions: ``answered`` (letter parsed),
            ``unparsed``, ``refused``, ``cut``, ``failed``, ``missing-image``, ``not-asked``,
            ``not-reached``.
        left: not asked because the run was stopped.
        seconds: duration of this session.
        cost: US dollars of all sessions; ``None`` without prices.
        stopped: why the run was stopped early; ``None`` if it was not.
    """

    out: Path
    asked: int
    reused: int
    answered: int
    failed: int
    missing: int
    unreached: int = 0
    shared: int = 0
    left: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    seconds: float
    cost: float | None = None
    stopped: str | None = None

    @property
    def cut(self) -> int:
        """Questions whose reply was truncated by the token limit before it gave an answer."""
        return self.ends.get("cut", 0)

    @property
    def too_many_failures(self) -> bool:
        """Whether more than ``FAILURE_GATE`` of the questions have no reply or a truncated one."""
        return self.failed + self.missing + self.cut > FAILURE_GATE * self.asked

    @property
    def again(self) -> str:
        """Value of ``--again`` that asks those questions once more; empty if it cannot help."""
        return ",".join(name for name in ("cut", "failed") if getattr(self, name))

    @property
    def exit_code(self) -> int:
        """0, or 3 if the run is incomplete: too many failures, or stopped early."""
        return 3 if self.too_many_failures or self.stopped else 0
