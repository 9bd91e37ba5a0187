"""Protocol of an answer form, and the score it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Protocol, TypeVar

__all__ = ["AnswerScore", "Ask", "Json", "OpenForm", "Target", "TargetError"]

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScore:
    """Score of one answer.

    Attributes:
        passed: whether it meets the bar of the item.
        credit: quality from 0 to 1, by the form's own measure.
        errors: deviations from the truth by name, in units that the form defines.
    """

    passed: bool
    credit: float
    errors: Mapping[str, float] = field(default_factory=dict)


class TargetError(ValueError):
    """The ``ask`` or ``truth`` of an item breaks a rule of the form."""


class Ask(Protocol):
    """The part of a target that a model sees."""

    form: ClassVar[str]


class Target(Protocol):
    """What an item asks for, the right answer, and the bar."""

    form: ClassVar[str]

    @property
    def ask(self) -> Ask:
        """The part that a model sees."""
        ...


Ask_contra = TypeVar("Ask_contra", bound=Ask, contravariant=True)
AnyTarget = TypeVar("AnyTarget", bound=Target)


class OpenForm(Protocol[AnyTarget, Ask_contra]):
    """A form without options: its rows in ``open.json``, its prompt and its blind replies."""

    @property
    def name(self) -> str:
        """Name of the form in releases."""
        ...

    def read_target(self, ask: object, truth: object) -> AnyTarget:
        """Parse the target from the fields ``ask`` and ``truth`` of a row.

        Raises:
            TargetError: they break a rule.
        """
        ...

    def write_target(self, target: AnyTarget) -> tuple[Json, Json]:
        """Return the fields ``ask`` and ``truth``, the inverse of ``read_target``."""
        ...

    def instruction(self, ask: Ask_contra) -> str:
        """Return the last part of the prompt: what to reply."""
        ...

    def blind_reply(self, ask: Ask_contra, draw: Random | None) -> str:
        """Return a reply made without the image: random, or the form's constant if no ``draw``."""
        ...

    def right_reply(self, target: AnyTarget) -> str:
        """Return a correct reply, for few-shot examples."""
        ...

    def show(self, answer: Any, ask: Ask_contra) -> str:
        """Format an answer for people."""
        ...

    def score(self, answer: Any, target: AnyTarget) -> AnswerScore:
        """Score an answer."""
        ...

    def slips(self, answer: Any, target: AnyTarget) -> tuple[str, ...]:
        """Return conventions under which a failed answer would pass: diagnostic, never counted."""
        ...
