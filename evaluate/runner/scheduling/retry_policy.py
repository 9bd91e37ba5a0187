"""Retry policy of a question."""

from __future__ import annotations

import random
from dataclasses import dataclass

from medrcube.evaluate.models.protocol import TransientError

__all__ = ["RATE_LIMIT", "RetryPolicy"]

RATE_LIMIT = "429"
"""Error code of a rate limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Number of retries and their delays.

    Attributes:
        attempts: attempts at one question after errors other than a rate limit.
        rate_limited: attempts at one question while the server returns 429.
        first_wait: seconds before the second attempt; doubles from then on.
        longest_wait: upper bound of our own delays.
        longest_hint: longest delay that the server may ask for; beyond it the question is given
            up.
    """

    attempts: int = 6
    rate_limited: int = 40
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_hint: float = 600.0

    def too_long(self, error: TransientError) -> bool:
        """Whether the server asks for a delay that no run should wait for.

        An exhausted quota asks for hours, a wrong clock for the year 2099.
        """
        return error.retry_after is not None and error.retry_after > self.longest_hint

    def wait(self, error: TransientError, tries: int) -> float | None:
        """Return the seconds to wait; ``None`` to give up.

        Args:
            error: the error.
            tries: attempts that ended with an error of this kind: a rate limit, or any other.
        """
        allowed = self.rate_limited if error.code == RATE_LIMIT else self.attempts
        if tries >= allowed or self.too_long(error):
            return None
        spread = random.uniform(0.5, 1.0)  # noqa: S311 - keeps questions from knocking in step
        if error.retry_after is not None:
            return error.retry_after * (1 + 0.1 * spread)
        return min(self.first_wait * 2.0 ** min(tries - 1, 30) * spread, self.longest_wait)
