"""Protocol of a batch API: what each provider promises to the runner.

A provider answers a file of questions within a day at half the price. Whoever sends one must be
able to find it again after a kill, or it is paid for twice: so every batch carries a token that the
run knew before it was sent.
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
"""Letters of the options of a question, by its name in the batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """How much one batch may hold.

    Attributes:
        questions: most questions.
        size: most bytes.
    """

    questions: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFileFrame:
    """What stands around the questions in a file.

    Attributes:
        head: before the first.
        between: between two.
        tail: after the last.
    """

    head: bytes
    between: bytes
    tail: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState:
    """Where a batch stands.

    Attributes:
        status: in the provider's word.
        ended: nothing more will happen to it.
        done: questions that are through; ``None`` where the provider does not tell yet.
        void: why nothing of it was run, and nothing is charged; empty otherwise.
        crowded: it is void because the account has too much under way.
        seconds: from its creation to its end.
        files: names of what lies at the provider, by kind.
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
    """What a search for a batch of ours gave.

    Attributes:
        batch: its id; ``None`` where none was found.
        unsure: batches that may be it, and do not tell before they end.
    """

    batch: str | None
    unsure: int = 0


class BatchInterface(Protocol):
    """The batches of one provider.

    Every method raises ``TransientError`` where asking again may help, ``RejectedError`` and
    ``ModelError`` where it does not.
    """

    @property
    def limits(self) -> BatchLimits:
        """How much one batch may hold."""
        ...

    @property
    def frame(self) -> BatchFileFrame:
        """What stands around the questions in a file."""
        ...

    async def question(self, name: str, request: ModelRequest) -> Sequence[bytes]:
        """One question as it stands in the file, in pieces."""
        ...

    async def upload(self, file: Path) -> str:
        """Bring a file to the provider, where that is a step of its own; nothing is charged."""
        ...

    async def create(self, uploaded: str, file: Path, token: str) -> str:
        """Have a batch answered; its id."""
        ...

    async def search(
        self, token: str, *, questions: int, known: Collection[str], since: float
    ) -> BatchSearch:
        """Look for a batch that was sent with this token and whose id was lost.

        Args:
            token: of the batch.
            questions: in it.
            known: ids that belong to other tokens.
            since: when it was sent, in seconds of the epoch.
        """
        ...

    async def state(self, batch: str) -> BatchState:
        """Where a batch stands."""
        ...

    def results(
        self, batch: str, state: BatchState, letters: Letters
    ) -> AsyncIterator[tuple[str, Reply | AnswerError]]:
        """What came of each question, by its name, in any order."""
        ...

    async def forget(self, batch: str, state: BatchState) -> None:
        """Delete at the provider what was sent and what came back."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
