"""Cost of the replies of a run, and the budget that stops it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from medrcube.errors import ModelError

__all__ = ["Budget", "Prices"]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Token prices of a provider, in US dollars per million tokens.

    Attributes:
        tokens_in: price of input tokens.
        tokens_out: price of output tokens, thinking included.
        in_batches: factor of both prices for replies in a batch.
    """

    tokens_in: float
    tokens_out: float
    in_batches: float = 1.0

    @property
    def of_batches(self) -> Prices:
        """The prices for replies in a batch."""
        part = self.in_batches
        return Prices(tokens_in=part * self.tokens_in, tokens_out=part * self.tokens_out)

    def cost(self, usage: Mapping[str, int]) -> float:
        """Return the cost of one reply in US dollars; 0 if the server reports no tokens."""
        prompt_tokens, completion_tokens = (
            usage.get("prompt_tokens", 0),
            usage.get("completion_tokens", 0),
        )
        return (prompt_tokens * self.tokens_in + completion_tokens * self.tokens_out) / _MILLION

    def cost_of(self, record: Mapping[str, Any]) -> float:
        """Return the cost of one attempt in US dollars, from its record in the attempt log."""
        return (self.of_batches if "batch" in record else self).cost(record.get("usage") or {})


@dataclass(slots=True, kw_only=True)
class Budget:
    """Cost of all sessions of a run, and its limit.

    Attributes:
        prices: token prices; ``None`` if unknown.
        most: US dollars at which no further question is asked.
        spent: US dollars so far.
        counted: number of replies in that sum.
    """

    prices: Prices | None = None
    most: float | None = None
    spent: float = field(default=0.0, init=False)
    counted: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.most is not None and self.prices is None:
            raise ModelError(
                "--max-cost needs prices: give --price-in and --price-out, in US dollars for "
                "a million tokens"
            )

    def count(self, record: Mapping[str, Any]) -> None:
        """Add the cost of one attempt; attempts without a reply may be charged too.

        Raises:
            ModelError: a cost limit is set and the server reports no tokens.
        """
        replied = record["status"] == "reply"
        if replied and self.most is not None and not record["usage"]:
            raise ModelError(
                "the endpoint does not report the tokens of a reply, so --max-cost cannot be kept; "
                "leave it out"
            )
        if self.prices is not None:
            self.spent += self.prices.cost_of(record)
        self.counted += replied

    def affordable(self, running: int) -> int | None:
        """Return how many questions besides ``running`` fit the limit at the mean cost so far.

        ``None`` without a limit, or while no reply has a known cost.
        """
        mean = self.spent / self.counted if self.counted else 0.0
        if self.most is None or not mean:
            return None
        return max(0, int((self.most - self.spent) / mean) - running)

    def exhausted(self, running: int) -> bool:
        """Whether one more question, besides those running, might exceed the limit."""
        if self.most is None:
            return False
        mean = self.spent / self.counted if self.counted else 0.0
        return self.spent + mean * (running + 1) > self.most
