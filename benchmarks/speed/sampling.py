"""Where the processor time of a piece of work goes: samples of the code of this package.

A timer of processor time interrupts the process every few milliseconds and notes the innermost
function of ours, so that what a library takes counts for the function that called it.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

__all__ = ["Profile", "profile"]

_EVERY = 0.004
_PACKAGE = "medrcube."


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What was found.

    Attributes:
        processor: seconds.
        costs: function to its share of them, the largest first.
        within: the share of a function that was asked for, with all that it calls.
        costs_within: the same as ``costs``, of that function alone.
    """

    processor: float
    costs: dict[str, float]
    within: float
    costs_within: dict[str, float]


def profile(work: Callable[[], object], inside: str = "") -> Profile:
    """Run something and say what it took.

    Args:
        work: runs in this process and thread.
        inside: name of a function whose own share is wanted, too.
    """
    counts: Counter[str] = Counter()
    found_within: Counter[str] = Counter()

    def note(_signal: int, frame: FrameType | None) -> None:
        innermost, is_within = "", False
        while frame is not None:
            module = str(frame.f_globals.get("__name__", ""))
            if module.startswith(_PACKAGE):
                innermost = innermost or f"{module[len(_PACKAGE) :]}.{frame.f_code.co_qualname}"
                is_within = is_within or frame.f_code.co_name == inside
            frame = frame.f_back
        counts[innermost or "elsewhere"] += 1
        if is_within:
            found_within[innermost] += 1

    before = signal.signal(signal.SIGPROF, note)
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, _EVERY, _EVERY)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return Profile(
        processor=time.process_time() - started,
        costs=_shares(counts),
        within=sum(found_within.values()) / max(1, sum(counts.values())),
        costs_within=_shares(found_within),
    )


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = max(1, sum(counts.values()))
    return {name: count / total for name, count in counts.most_common(8)}
