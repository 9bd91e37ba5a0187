"""Protocol of a model, and its requests, replies and errors.

A model asks once and reports what happened; waiting, repeating and recording are the runner's
work, so that they hold for every model alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from medrcube.evaluate.image_files import ImageFile

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A solved example before a question.

    Attributes:
        prompt: the whole text of the example's question.
        reply: the letter of its right option.
        picture: what it is about; ``None`` where the question itself is asked blind.
    """

    prompt: str
    reply: str
    picture: ImageFile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model.

    Attributes:
        item: dataset and id, unique within the benchmark.
        prompt: the whole text.
        options: (letter, text) of each option.
        picture: what the question is about; ``None`` where it is asked blind.
        shots: solved examples that stand before it, in their order. Only a model whose
            ``takes_shots`` is true ever gets any.
    """

    item: str
    prompt: str
    options: tuple[tuple[str, str], ...]
    picture: ImageFile | None
    shots: tuple[Shot, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back.

    Attributes:
        text: the visible text, possibly empty.
        finish_reason: why the model stopped: ``stop``, ``length``, ``content_filter``, ``refusal``.
        usage: token counts as the provider reports them.
        scores: log-probability of each option's letter as the first token, where the model tells.
        model: model as the provider names it, with its build where it tells one.
        latency: seconds from sending to the whole reply.
    """

    text: str
    finish_reason: str
    usage: Mapping[str, int]
    scores: Mapping[str, float] = field(default_factory=dict)
    model: str
    latency: float


class Model(Protocol):
    """A model that answers one question at a time, many at once."""

    @property
    def name(self) -> str:
        """``PROVIDER/NAME``, as it was asked for."""
        ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """Everything that may change a reply: adapter and its version, endpoint, parameters.

        Goes into the manifest and into the key of every reply, so it must hold no secret.
        """
        ...

    async def answer(self, request: ModelRequest) -> Reply:
        """Ask once.

        Raises:
            TransientError: asking again may help.
            RejectedError: this question will never be answered; others may be.
            ModelError: no question will be answered; the run stops.
        """
        ...

    async def close(self) -> None:
        """Give back connections; the model may be used again."""
        ...


class AnswerError(Exception):
    """One question was not answered.

    Attributes:
        code: short machine-readable reason, such as ``429`` or ``timeout``.
        usage: token counts of a reply that is none; the provider charges for it all the same.
    """

    def __init__(self, message: str, *, code: str, usage: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.usage = usage or {}


class TransientError(AnswerError):
    """Asking again may help.

    Attributes:
        retry_after: seconds to wait as the server asks, or ``None``.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        retry_after: float | None = None,
        usage: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(message, code=code, usage=usage)
        self.retry_after = retry_after


class RejectedError(AnswerError):
    """This question will never be answered as it stands."""
