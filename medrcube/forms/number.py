"""Form ``number``: one number in a stated unit, passed within bounds fixed by the item."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from medrcube.forms.protocol import AnswerScore, Json, TargetError
from medrcube.forms.strict_fields import read_fields, read_number
from medrcube.forms.units import find_unit

__all__ = ["NumberAsk", "NumberForm", "NumberTarget", "relative_accuracy"]

_THRESHOLDS = tuple(step / 100 for step in range(50, 100, 5))
_TINY = 1e-9
_CONSTANTS = {"length": 20.0, "share": 0.5, "volume": 100.0, "time": 30.0, "angle": 45.0}
_SLIPS = {"ten times": 0.1, "a tenth": 10.0, "hundred times": 0.01, "a hundredth": 100.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberAsk:
    """The part a model sees.

    Attributes:
        unit: symbol of the unit; empty for a ratio or a count.
    """

    form: ClassVar[str] = "number"

    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberTarget:
    """A target quantity.

    Attributes:
        ask: the unit.
        value: the true value, above 0.
        low: smallest value that passes.
        high: largest value that passes.
    """

    form: ClassVar[str] = "number"

    ask: NumberAsk
    value: float
    low: float
    high: float


class NumberForm:
    """Passed within ``[low, high]``; the credit is the mean relative accuracy."""

    name = "number"

    def read_target(self, ask: object, truth: object) -> NumberTarget:
        """Parse the target from ``{"unit"}`` and ``{"value", "low", "high"}``.

        Raises:
            TargetError: the unit is unknown, or the numbers are not ``0 <= low <= value <= high``.
        """
        unit = find_unit(read_fields("ask", ask, ("unit",))["unit"])
        fields = read_fields("truth", truth, ("value", "low", "high"))
        low, value, high = (
            read_number(f"truth {name}", fields[name], least=0) for name in ("low", "value", "high")
        )
        if not (low <= value <= high and value > 0):
            raise TargetError(
                f"truth is {value:g} within {low:g} and {high:g}; expected low <= value <= high, "
                "and a value above 0"
            )
        return NumberTarget(ask=NumberAsk(unit=unit.name), value=value, low=low, high=high)

    def write_target(self, target: NumberTarget) -> tuple[Json, Json]:
        """Return ``{"unit"}`` and ``{"value", "low", "high"}``."""
        truth: Json = {"value": target.value, "low": target.low, "high": target.high}
        return {"unit": target.ask.unit}, truth

    def instruction(self, ask: NumberAsk) -> str:
        """Return the instruction to reply with one number in the unit."""
        return f"Reply with one number in {ask.unit}." if ask.unit else "Reply with one number."

    def blind_reply(self, ask: NumberAsk, draw: Random | None) -> str:
        """Return the unit's constant, or with ``draw`` a random multiple of it.

        The factor is log-uniform from 0.1 to 10, and uniform from 0.02 to 2 for shares.
        """
        unit = find_unit(ask.unit)
        constant = _CONSTANTS.get(unit.dimension, 1.0)
        if unit.dimension in {"length", "share", "time"}:
            constant /= unit.size
        if draw is not None:
            constant *= (
                draw.uniform(0.02, 2) if unit.dimension == "share" else (10 ** draw.uniform(-1, 1))
            )
        return self.show(constant, ask)

    def right_reply(self, target: NumberTarget) -> str:
        """Return the true value with its unit."""
        return self.show(target.value, target.ask)

    def show(self, answer: float, ask: NumberAsk) -> str:
        """Format the number with its unit."""
        number = f"{answer:.6g}"
        return f"{number} {ask.unit}" if ask.unit else number

    def score(self, answer: float, target: NumberTarget) -> AnswerScore:
        """Score a number in the item's unit.

        ``errors`` contains ``difference``, answer minus truth in that unit, and for answers above 0
        ``log_ratio``, the natural logarithm of answer over truth.
        """
        errors = {"difference": answer - target.value}
        if answer > 0:
            errors["log_ratio"] = math.log(answer) - math.log(target.value)
        return AnswerScore(
            passed=target.low <= answer <= target.high,
            credit=relative_accuracy(answer, target.value),
            errors=errors,
        )

    def slips(self, answer: float, target: NumberTarget) -> tuple[str, ...]:
        """Return the powers of ten by which a failed number would pass, such as cm for mm."""
        if target.low <= answer <= target.high:
            return ()
        return tuple(
            name for name, factor in _SLIPS.items() if target.low <= answer * factor <= target.high
        )


def relative_accuracy(answer: float, value: float) -> float:
    """Mean relative accuracy: fraction of thresholds t = 0.50, 0.55 ... 0.95 that an answer meets.

    A threshold is met if ``|answer - value| / value < 1 - t`` (VSI-Bench, arXiv 2412.14171).

    Args:
        answer: the number in the reply.
        value: the true value, above 0.
    """
    error = abs(answer - value) / value
    return sum(error < 1 - threshold - _TINY for threshold in _THRESHOLDS) / len(_THRESHOLDS)
