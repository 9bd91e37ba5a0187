"""What the replies of a run cost, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from medrcube.errors import ModelError

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a provider charges, in US dollars for a million tokens.

    Attributes:
        tokens_in: price of what is sent.
        tokens_out: price of what is written, thoughts included.
    """

    tokens_in: float
    tokens_out: float

    def cost(self, usage: Mapping[str, int]) -> float:
        """Dollars for one reply; nothing where the server counts no tokens."""
        sent, written = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        return (sent * self.tokens_in + written * self.tokens_out) / _MILLION


@dataclass(slots=True, kw_only=True)
class Budget:
    """Counts what all sessions of a run have cost.

    Attributes:
        prices: ``None`` when nobody named them.
        most: dollars at which no further question is asked.
        spent: dollars so far.
        counted: replies in that sum.
    """

    prices: Prices | None = None
    most: float | None = None
    spent: float = field(default=0.0, init=False)
    counted: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.most is not None and self.prices is None:
            raise ModelError(
                "a largest cost needs prices: give --price-in and --price-out, in US dollars for "
                "a million tokens"
            )

    def count(self, usage: Mapping[str, int]) -> None:
        """Count one reply.

        Raises:
            ModelError: a largest cost is set and the server does not count tokens.
        """
        if self.most is not None and not usage:
            raise ModelError(
                "the endpoint does not say how many tokens a reply took, so --max-cost cannot be "
                "kept; leave it out"
            )
        self.count_failed(usage)
        self.counted += 1

    def count_failed(self, usage: Mapping[str, int]) -> None:
        """Count a try that ended without a reply, for which a provider may charge too."""
        if self.prices is not None:
            self.spent += self.prices.cost(usage)

    def affordable(self, running: int) -> int | None:
        """How many questions beside those that are running the most allows, by the mean so far.

        ``None`` where there is no bound, or none can be told because replies cost nothing.
        """
        mean = self.spent / self.counted if self.counted else 0.0
        if self.most is None or not mean:
            return None
        return max(0, int((self.most - self.spent) / mean) - running)

    def exhausted(self, running: int) -> bool:
        """Whether one more question, beside those that are running, might exceed the most."""
        if self.most is None:
            return False
        mean = self.spent / self.counted if self.counted else 0.0
        return self.spent + mean * (running + 1) > self.most
