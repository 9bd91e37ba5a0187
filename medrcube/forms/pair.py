"""Form ``pair``: yes or no to each of two statements about one image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from medrcube.forms.protocol import AnswerScore, Json, TargetError
from medrcube.forms.strict_fields import read_fields, read_texts

__all__ = ["PairAsk", "PairForm", "PairTarget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAsk:
    """The part a model sees.

    Attributes:
        statements: the two statements.
    """

    form: ClassVar[str] = "pair"

    statements: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTarget:
    """Two statements with their truth values.

    Attributes:
        ask: the statements.
        answers: whether each is true.
    """

    form: ClassVar[str] = "pair"

    ask: PairAsk
    answers: tuple[bool, bool]


class PairForm:
    """Passed if both answers are right; the credit is the fraction that is right."""

    name = "pair"

    def read_target(self, ask: object, truth: object) -> PairTarget:
        """Parse the target from ``{"statements"}`` and ``{"answers"}``.

        Raises:
            TargetError: a field is missing or invalid.
        """
        statements = read_texts(
            "ask statements",
            read_fields("ask", ask, ("statements",))["statements"],
            least=2,
            most=2,
        )
        answers = read_fields("truth", truth, ("answers",))["answers"]
        if not isinstance(answers, list) or [type(each) for each in answers] != [bool, bool]:
            raise TargetError(
                f"truth answers is {str(answers)[:60]!r}; expected two of true, false"
            )
        return PairTarget(
            ask=PairAsk(statements=(statements[0], statements[1])),
            answers=(answers[0], answers[1]),
        )

    def write_target(self, target: PairTarget) -> tuple[Json, Json]:
        """Return ``{"statements"}`` and ``{"answers"}``."""
        return {"statements": list(target.ask.statements)}, {"answers": list(target.answers)}

    def instruction(self, ask: PairAsk) -> str:
        """Return the statements and the instruction to answer yes or no to each."""
        first, second = ask.statements
        statements = f"1. {first}\n2. {second}"
        return f"{statements}\nReply with yes or no to each: 1. yes or no, 2. yes or no."

    def blind_reply(self, ask: PairAsk, draw: Random | None) -> str:
        """Return yes to both, or random answers."""
        answers = (True, True) if draw is None else (draw.random() < 0.5, draw.random() < 0.5)
        return self.show(answers, ask)

    def right_reply(self, target: PairTarget) -> str:
        """Return the right answers."""
        return self.show(target.answers, target.ask)

    def show(self, answer: Sequence[bool], ask: PairAsk) -> str:  # noqa: ARG002 - of the protocol
        """``1. yes, 2. no``."""
        words = ("no", "yes")
        return f"1. {words[answer[0]]}, 2. {words[answer[1]]}"

    def score(self, answer: Sequence[bool], target: PairTarget) -> AnswerScore:
        """Score two answers; ``errors`` counts the ``wrong`` ones and the ``yes`` ones."""
        right = sum(reply is true for reply, true in zip(answer, target.answers, strict=True))
        return AnswerScore(
            passed=right == len(target.answers),
            credit=right / len(target.answers),
            errors={"wrong": len(target.answers) - right, "yes": sum(answer)},
        )

    def slips(self, answer: Sequence[bool], target: PairTarget) -> tuple[str, ...]:
        """Return ``answers exchanged`` if the answers would be right in the other order."""
        exchanged = (answer[1], answer[0]) == target.answers
        return ("answers exchanged",) if exchanged and tuple(answer) != target.answers else ()
