"""Form ``order``: a list of labels to be put in the right order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import ClassVar

from medrcube.forms.protocol import AnswerScore, Json, TargetError
from medrcube.forms.strict_fields import read_fields, read_texts

__all__ = ["OrderAsk", "OrderForm", "OrderTarget"]

_MOST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAsk:
    """The part a model sees.

    Attributes:
        labels: the labels to order, as listed in the prompt.
    """

    form: ClassVar[str] = "order"

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTarget:
    """Labels and their right order.

    Attributes:
        ask: the labels.
        order: the same labels, in order.
    """

    form: ClassVar[str] = "order"

    ask: OrderAsk
    order: tuple[str, ...]


class OrderForm:
    """Passed if the order is exact; the credit is the fraction of concordant pairs.

    That fraction is ``(tau + 1) / 2`` for Kendall's tau.
    """

    name = "order"

    def read_target(self, ask: object, truth: object) -> OrderTarget:
        """Parse the target from ``{"labels"}`` and ``{"order"}``.

        Raises:
            TargetError: a field is missing or invalid, or the order has different labels.
        """
        labels = read_fields("ask", ask, ("labels",))["labels"]
        order = read_fields("truth", truth, ("order",))["order"]
        read_texts("ask labels", labels, least=2, most=_MOST)
        read_texts("truth order", order, least=2, most=_MOST)
        if sorted(labels) != sorted(order):
            raise TargetError(f"truth order is {order}; expected the labels {labels} in order")
        return OrderTarget(ask=OrderAsk(labels=tuple(labels)), order=tuple(order))

    def write_target(self, target: OrderTarget) -> tuple[Json, Json]:
        """Return ``{"labels"}`` and ``{"order"}``."""
        return {"labels": list(target.ask.labels)}, {"order": list(target.order)}

    def instruction(self, ask: OrderAsk) -> str:
        """Return the instruction to reply with all labels, separated by commas."""
        labels = "; ".join(ask.labels)
        return f"Bring these into order: {labels}. Reply with all of them, separated by commas."

    def blind_reply(self, ask: OrderAsk, draw: Random | None) -> str:
        """Return the labels as listed, or in random order."""
        labels = list(ask.labels)
        if draw is not None:
            draw.shuffle(labels)
        return self.show(labels, ask)

    def right_reply(self, target: OrderTarget) -> str:
        """Return the right order."""
        return self.show(target.order, target.ask)

    def show(self, answer: Sequence[str], ask: OrderAsk) -> str:  # noqa: ARG002 - of the protocol
        """The labels, separated by commas."""
        return ", ".join(answer)

    def score(self, answer: Sequence[str], target: OrderTarget) -> AnswerScore:
        """Score an order of all labels; ``errors`` contains Kendall's ``tau``."""
        place = {label: index for index, label in enumerate(target.order)}
        pairs = list(combinations(answer, 2))
        share = sum(place[first] < place[second] for first, second in pairs) / len(pairs)
        passed = tuple(answer) == target.order
        return AnswerScore(passed=passed, credit=share, errors={"tau": 2 * share - 1})

    def slips(self, answer: Sequence[str], target: OrderTarget) -> tuple[str, ...]:
        """Return ``reversed`` for the exact opposite order."""
        return ("reversed",) if tuple(reversed(answer)) == target.order else ()
