"""Stall watchdog: reports silence, and the question that has waited longest."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["STALLED_AFTER", "Watchdog"]

STALLED_AFTER = 30.0
"""Seconds without a reply after which a run reports what it is waiting for, repeatedly."""


@dataclass(slots=True, kw_only=True)
class Watchdog:
    """Start times of concurrent questions; pure, the caller passes the time.

    Attributes:
        patience: seconds of silence before the first report and between reports.
    """

    patience: float = STALLED_AFTER
    _under_way: dict[str, tuple[str, float]] = field(default_factory=dict, init=False)
    _heard: float = field(default=0.0, init=False)

    def note_request(self, key: str, name: str, now: float) -> None:
        """Record that a question was sent; silence counts from the first concurrent question on."""
        if not self._under_way:
            self._heard = now
        self._under_way[key] = (name, now)

    def ended(self, key: str, now: float) -> None:
        """Record that a question ended."""
        del self._under_way[key]
        self._heard = now

    def complaint(self, now: float) -> str | None:
        """Return the report of a stall; ``None`` without one."""
        if not self._under_way or now - self._heard < self.patience:
            return None
        name, since = next(iter(self._under_way.values()))
        silent = now - self._heard
        self._heard = now
        return (
            f"no reply for {silent:.0f} s; {len(self._under_way)} under way, the oldest "
            f"is {name}, sent {now - since:.0f} s ago"
        )
