"""Protocol of a model, and its requests, replies and errors.

A model sends a request once and reports the result; waiting, retrying and recording are up to the
runner, so that they are the same for every model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from medrcube.evaluate.image_files import ImageFile
from medrcube.forms.protocol import Ask

__all__ = [
    "AnswerError",
    "Exchange",
    "Json",
    "Model",
    "ModelRequest",
    "RejectedError",
    "Reply",
    "Shot",
    "TransientError",
]

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A few-shot example before a question.

    Attributes:
        prompt: full text of the example's question.
        reply: letter of its key, or the true answer of an item without options.
        picture: its image; ``None`` if the question itself is asked blind.
    """

    prompt: str
    reply: str
    picture: ImageFile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An earlier question of the same conversation, and what the model replied.

    Attributes:
        prompt: full text of the question.
        reply: text of the model's own reply, without reasoning.
        picture: its image; ``None`` if an earlier turn of the conversation already showed it.
    """

    prompt: str
    reply: str
    picture: ImageFile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model.

    Attributes:
        item: dataset and id, unique within the benchmark.
        prompt: full text.
        options: (letter, text) of each option; empty for other answer forms.
        picture: its image; ``None`` if it is asked blind, or an earlier turn of the conversation
            already showed it.
        shots: few-shot examples before it, in order. Only a model whose ``takes_shots`` is true
            ever gets any.
        history: earlier questions of the conversation with the model's own replies, in order,
            after the examples. Only a model whose ``takes_history`` is true ever gets any.
        ask: what an item without options asks for; ``None`` for options. The prompt includes it
            too.
    """

    item: str
    prompt: str
    options: tuple[tuple[str, str], ...]
    picture: ImageFile | None
    shots: tuple[Shot, ...] = ()
    history: tuple[Exchange, ...] = ()
    ask: Ask | None = None

    @property
    def earlier_turns(self) -> tuple[Shot | Exchange, ...]:
        """The turns before the question: examples, then the conversation so far."""
        return (*self.shots, *self.history)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply.

    Attributes:
        text: the visible text, possibly empty.
        finish_reason: why the model stopped: ``stop``, ``length``, ``content_filter``, ``refusal``.
        usage: token counts as the provider reports them.
        scores: log-probability of each option's letter as the first token, where available.
        model: model name as the provider reports it, with its build where available.
        latency: seconds from sending to the complete reply.
    """

    text: str
    finish_reason: str
    usage: Mapping[str, int]
    scores: Mapping[str, float] = field(default_factory=dict)
    model: str
    latency: float


class Model(Protocol):
    """A model that answers one question per call, and supports concurrent calls.

    Optional attributes: ``runs_here``, true if nothing of a request leaves this machine, so that
    images under a data agreement may be asked; ``takes_shots`` and ``takes_history``, true if it
    sends ``ModelRequest.shots`` and ``history``; ``suggested_connections``, the number of requests
    kept in flight; and ``batch_size``.
    """

    @property
    def name(self) -> str:
        """``PROVIDER/NAME``, as given when opened."""
        ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """Everything that may change a reply: adapter and its version, endpoint, parameters.

        Stored in the manifest and in the key of every reply, so it must not contain secrets.
        """
        ...

    async def answer(self, request: ModelRequest) -> Reply:
        """Send one request once.

        Raises:
            TransientError: a retry may help.
            RejectedError: this question will never be answered; others may be.
            ModelError: no question will be answered; the run stops.
        """
        ...

    async def close(self) -> None:
        """Close connections; the model may be used again."""
        ...


class AnswerError(Exception):
    """One question was not answered.

    Attributes:
        code: short machine-readable reason, such as ``429`` or ``timeout``.
        usage: token counts of an unusable reply, which the provider also charges for.
    """

    def __init__(self, message: str, *, code: str, usage: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.usage = usage or {}


class TransientError(AnswerError):
    """A retry may help.

    Attributes:
        retry_after: seconds that the server asks to wait, or ``None``.
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
