"""Stall watchdog: reports silence, and the question that has waited longest."""

from __future__ import annotations

from dataclasses import dataclass, field

STALLED_AFTER = 30.0
"""Seconds without any reply after which a run says what it waits for, and again every so often."""


@dataclass(slots=True, kw_only=True)
class Watchdog:
    """Which questions are under way since when; pure, whoever asks tells the time.

    Attributes:
        patience: seconds of silence before the first word and between words.
    """

    patience: float = STALLED_AFTER
    _under_way: dict[str, tuple[str, float]] = field(default_factory=dict, init=False)
    _heard: float = field(default=0.0, init=False)

    def sent(self, key: str, name: str, now: float) -> None:
        """A question was sent; while none was under way there was nothing to wait for."""
        if not self._under_way:
            self._heard = now
        self._under_way[key] = (name, now)

    def ended(self, key: str, now: float) -> None:
        """Something was heard of a question."""
        del self._under_way[key]
        self._heard = now

    def complaint(self, now: float) -> str | None:
        """What to tell when nothing was heard for too long."""
        if not self._under_way or now - self._heard < self.patience:
            return None
        name, since = next(iter(self._under_way.values()))
        silent = now - self._heard
        self._heard = now
        return (
            f"nothing came back for {silent:.0f} s; {len(self._under_way)} under way, the oldest "
            f"is {name}, sent {now - since:.0f} s ago"
        )
