"""Protocol of a batch API: what the runner requires of each provider.

A provider answers a file of questions within a day at half price. After a kill, a submitted batch
must be found again or it is paid for twice, so every batch carries a token that the run stored
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
"""Option letters of a question by its name in the batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """Limits of one batch.

    Attributes:
        questions: maximum number of questions.
        size: maximum size in bytes.
    """

    questions: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFileFrame:
    """Bytes around the questions in a request file.

    Attributes:
        head: bytes before the first question.
        between: bytes between two questions.
        tail: bytes after the last question.
    """

    head: bytes
    between: bytes
    tail: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState:
    """State of a batch.

    Attributes:
        status: status name used by the provider.
        ended: whether its state is final.
        done_count: finished questions; ``None`` if the provider does not report them yet.
        void: why nothing was run or charged; empty otherwise.
        crowded: whether it is void because the account has too many questions queued.
        seconds: from its creation to its end.
        files: ids of the files at the provider, by kind.
    """

    status: str
    ended: bool
    done_count: int | None = None
    void: str = ""
    crowded: bool = False
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSearch:
    """Result of a search for one of our batches.

    Attributes:
        batch: its id; ``None`` if not found.
        unsure: candidate batches, which can only be identified once they end.
    """

    batch: str | None
    unsure: int = 0


class BatchInterface(Protocol):
    """Batch API of one provider.

    Every method raises ``TransientError`` if a retry may help, and ``RejectedError`` or
    ``ModelError`` if not.
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
        """Return one question of the request file, in pieces."""
        ...

    async def upload(self, file: Path) -> str:
        """Upload a file, if that is a separate step; nothing is charged."""
        ...

    async def create(self, uploaded: str, file: Path, token: str) -> str:
        """Submit a batch and return its id."""
        ...

    async def search(
        self, token: str, *, questions: int, known_ids: Collection[str], since: float
    ) -> BatchSearch:
        """Search for a batch by its token after its id was lost.

        Args:
            token: token of the batch.
            questions: questions in the batch.
            known_ids: ids that belong to other tokens, to be excluded.
            since: time of sending, in seconds since the epoch.
        """
        ...

    async def state(self, batch: str) -> BatchState:
        """Return the state of a batch."""
        ...

    def results(
        self, batch: str, state: BatchState, letters: Letters
    ) -> AsyncIterator[tuple[str, Reply | AnswerError]]:
        """Yield results by question name, in any order."""
        ...

    async def forget(self, batch: str, state: BatchState) -> None:
        """Delete questions and results at the provider."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
