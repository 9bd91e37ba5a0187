"""Protocol of a batch API: what each provider promises to the runner.

A provider answers a file of questions within a day at half the price. After a kill, a sent batch
must be found again or it is paid for twice: so every batch carries a token that the run stored
before sending.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from medrcube.evaluate.models.protocol import AnswerError, ModelRequest, Reply

__all__ = [
    "BatchFileFrame",
    "BatchInterface",
    "BatchLimits",
    "BatchSearch",
    "BatchState",
    "Letters",
]

Letters = Callable[[str], Sequence[str]]
"""Option letters of a question, by its name in the batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """Limits of one batch.

    Attributes:
        questions: most questions.
        size: most bytes.
    """

    questions: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFileFrame:
    """Bytes around the questions in a request file.

    Attributes:
        head: before the first question.
        between: between two questions.
        tail: after the last question.
    """

    head: bytes
    between: bytes
    tail: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState:
    """State of a batch.

    Attributes:
        status: status as the provider names it.
        ended: whether its state is final.
        done: finished questions; ``None`` where the provider does not report them yet.
        void: why none of it was run or charged; empty otherwise.
        crowded: it is void because the account has too many questions queued.
        seconds: from its creation to its end.
        files: ids of the files at the provider, by kind.
    """

    status: str
    ended: bool
    done: int | None = None
    void: str = ""
    crowded: bool = False
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSearch:
    """Result of a search for one of our batches.

    Attributes:
        batch: its id; ``None`` if not found.
        unsure: batches that may be it, which shows only when they end.
    """

    batch: str | None
    unsure: int = 0


class BatchInterface(Protocol):
    """Batch API of one provider.

    Every method raises ``TransientError`` where a retry may help, ``RejectedError`` and
    ``ModelError`` where it does not.
    """

    @property
    def limits(self) -> BatchLimits:
        """Limits of one batch."""
        ...

    @property
    def frame(self) -> BatchFileFrame:
        """Bytes around the questions in a request file."""
        ...

    async def question(self, name: str, request: ModelRequest) -> Sequence[bytes]:
        """One question of the request file, in pieces."""
        ...

    async def upload(self, file: Path) -> str:
        """Upload a file, where that is a separate step; nothing is charged."""
        ...

    async def create(self, uploaded: str, file: Path, token: str) -> str:
        """Submit a batch; returns its id."""
        ...

    async def search(
        self, token: str, *, questions: int, known: Collection[str], since: float
    ) -> BatchSearch:
        """Search for a batch by its token after its id was lost.

        Args:
            token: of the batch.
            questions: in it.
            known: ids that belong to other tokens.
            since: time of sending, in seconds since the epoch.
        """
        ...

    async def state(self, batch: str) -> BatchState:
        """State of a batch."""
        ...

    def results(
        self, batch: str, state: BatchState, letters: Letters
    ) -> AsyncIterator[tuple[str, Reply | AnswerError]]:
        """Results by question name, in any order."""
        ...

    async def forget(self, batch: str, state: BatchState) -> None:
        """Delete questions and results at the provider."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
