"""Protocol of an answer form, and what it gives for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Protocol, TypeVar

__all__ = ["AnswerForm", "AnswerScore", "Ask", "Json", "OpenForm", "Target", "TargetError"]

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScore:
    """Score of one answer.

    Attributes:
        passed: whether it meets the bar of the item.
        credit: from 0 to 1; how good it is, by the form's own measure.
        errors: distances from the truth by name; their unit is the form's.
    """

    passed: bool
    credit: float
    errors: Mapping[str, float] = field(default_factory=dict)


class TargetError(ValueError):
    """What an item asks for, or its truth, breaks a rule of the form."""


class Ask(Protocol):
    """The part of a target that a model is told."""

    form: ClassVar[str]


class Target(Protocol):
    """What an item asks for, what is right, and the bar."""

    form: ClassVar[str]

    @property
    def ask(self) -> Ask:
        """The part that a model is told."""
        ...


Ask_contra = TypeVar("Ask_contra", bound=Ask, contravariant=True)
AnyTarget = TypeVar("AnyTarget", bound=Target)
Target_contra = TypeVar("Target_contra", contravariant=True)


class AnswerForm(Protocol[Target_contra]):
    """Scoring of one form; an answer is the JSON value that parsing gives."""

    @property
    def name(self) -> str:
        """Its name in releases."""
        ...

    def right_reply(self, target: Target_contra) -> str:
        """A reply that is right, as an example shows it."""
        ...

    def score(self, answer: Any, target: Target_contra) -> AnswerScore:
        """Score of an answer."""
        ...


class OpenForm(Protocol[AnyTarget, Ask_contra]):
    """A form without options: its rows in ``open.json``, its prompt and its blind answers."""

    @property
    def name(self) -> str:
        """Its name in releases."""
        ...

    def read_target(self, ask: object, truth: object) -> AnyTarget:
        """Target of the fields ``ask`` and ``truth`` of a row.

        Raises:
            TargetError: they break a rule.
        """
        ...

    def write_target(self, target: AnyTarget) -> tuple[Json, Json]:
        """The fields ``ask`` and ``truth`` that ``read_target`` reads back."""
        ...

    def instruction(self, ask: Ask_contra) -> str:
        """End of the prompt: what to reply."""
        ...

    def blind_reply(self, ask: Ask_contra, draw: Random | None) -> str:
        """Reply without a look at the image: drawn, or the form's constant without ``draw``."""
        ...

    def right_reply(self, target: AnyTarget) -> str:
        """A reply that is right, as an example shows it."""
        ...

    def show(self, answer: Any, ask: Ask_contra) -> str:
        """An answer in words."""
        ...

    def score(self, answer: Any, target: AnyTarget) -> AnswerScore:
        """Score of an answer."""
        ...

    def slips(self, answer: Any, target: AnyTarget) -> tuple[str, ...]:
        """Other conventions under which a failed answer would pass: a diagnosis, never counted."""
        ...
