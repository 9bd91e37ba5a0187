"""Cost of the replies of a run, and the budget that stops it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from medrcube.errors import ModelError

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a provider charges, in US dollars for a million tokens.

    Attributes:
        tokens_in: price of what is sent.
        tokens_out: price of what is written, thoughts included.
        in_batches: part of both that is charged for a reply in a batch.
    """

    tokens_in: float
    tokens_out: float
    in_batches: float = 1.0

    @property
    def of_batches(self) -> Prices:
        """What a reply in a batch costs."""
        part = self.in_batches
        return Prices(tokens_in=part * self.tokens_in, tokens_out=part * self.tokens_out)

    def cost(self, usage: Mapping[str, int]) -> float:
        """Dollars for one reply; nothing where the server counts no tokens."""
        sent, written = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        return (sent * self.tokens_in + written * self.tokens_out) / _MILLION

    def cost_of(self, record: Mapping[str, Any]) -> float:
        """Dollars for one try, by its record among the attempts of a run."""
        return (self.of_batches if "batch" in record else self).cost(record.get("usage") or {})


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

    def count(self, record: Mapping[str, Any]) -> None:
        """Count one try, by its record; one that ended without a reply may be charged too.

        Raises:
            ModelError: a largest cost is set and the server does not count tokens.
        """
        replied = record["status"] == "reply"
        if replied and self.most is not None and not record["usage"]:
            raise ModelError(
                "the endpoint does not say how many tokens a reply took, so --max-cost cannot be "
                "kept; leave it out"
            )
        if self.prices is not None:
            self.spent += self.prices.cost_of(record)
        self.counted += replied

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
