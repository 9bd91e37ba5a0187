"""Form ``order``: a list of labels in the right order."""

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
    """What a model is told.

    Attributes:
        labels: what to bring into order, as the prompt lists them.
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
    """Passed with the exact order; the credit is the share of pairs in the right order.

    That share is ``(tau + 1) / 2`` of Kendall's tau.
    """

    name = "order"

    def read_target(self, ask: object, truth: object) -> OrderTarget:
        """Target of ``{"labels"}`` and ``{"order"}``.

        Raises:
            TargetError: a field is missing or wrong, or the order has other labels.
        """
        labels = read_fields("ask", ask, ("labels",))["labels"]
        order = read_fields("truth", truth, ("order",))["order"]
        read_texts("ask labels", labels, least=2, most=_MOST)
        read_texts("truth order", order, least=2, most=_MOST)
        if sorted(labels) != sorted(order):
            raise TargetError(f"truth order is {order}; expected the labels {labels} in order")
        return OrderTarget(ask=OrderAsk(labels=tuple(labels)), order=tuple(order))

    def write_target(self, target: OrderTarget) -> tuple[Json, Json]:
        """``{"labels"}`` and ``{"order"}``."""
        return {"labels": list(target.ask.labels)}, {"order": list(target.order)}

    def instruction(self, ask: OrderAsk) -> str:
        """Asks for all labels, separated by commas."""
        labels = "; ".join(ask.labels)
        return f"Bring these into order: {labels}. Reply with all of them, separated by commas."

    def blind_reply(self, ask: OrderAsk, draw: Random | None) -> str:
        """The labels as they are listed, or in a drawn order."""
        labels = list(ask.labels)
        if draw is not None:
            draw.shuffle(labels)
        return self.show(labels, ask)

    def right_reply(self, target: OrderTarget) -> str:
        """The right order."""
        return self.show(target.order, target.ask)

    def show(self, answer: Sequence[str], ask: OrderAsk) -> str:  # noqa: ARG002 - of the protocol
        """The labels, separated by commas."""
        return ", ".join(answer)

    def score(self, answer: Sequence[str], target: OrderTarget) -> AnswerScore:
        """Score of an order of all labels; ``errors`` holds Kendall's ``tau``."""
        place = {label: index for index, label in enumerate(target.order)}
        pairs = list(combinations(answer, 2))
        share = sum(place[first] < place[second] for first, second in pairs) / len(pairs)
        passed = tuple(answer) == target.order
        return AnswerScore(passed=passed, credit=share, errors={"tau": 2 * share - 1})

    def slips(self, answer: Sequence[str], target: OrderTarget) -> tuple[str, ...]:
        """``reversed`` for the exact opposite."""
        return ("reversed",) if tuple(reversed(answer)) == target.order else ()
