"""Write the request file of a batch, within the provider's limits."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.evaluate.models.batch_api.protocol import BatchInterface
from medrcube.evaluate.models.protocol import AnswerError, RejectedError
from medrcube.evaluate.runner.request_builder import RequestBuilder
from medrcube.evaluate.runner.scheduling.question_queue import QueuedQuestion

__all__ = ["BatchFile", "delete_batch_files", "write_batch"]

_NAME = "batch-{}.partial"


@dataclass(slots=True, kw_only=True)
class BatchFile:
    """A request file, ready to be sent.

    Attributes:
        path: the file.
        turns: its questions, in order.
        refused: questions that cannot be sent, each with the error.
    """

    path: Path
    turns: list[QueuedQuestion] = field(default_factory=list)
    refused: list[tuple[QueuedQuestion, AnswerError]] = field(default_factory=list)


async def write_batch(
    out: Path,
    token: str,
    queue: deque[QueuedQuestion],
    *,
    most: int,
    interface: BatchInterface,
    requests: RequestBuilder,
) -> BatchFile:
    """Write questions from the queue while they fit.

    Args:
        out: run folder; contains the file while it is sent.
        token: token of the batch.
        queue: questions to ask; those written are removed from it.
        most: maximum number of questions.
        interface: the provider's batch API.
        requests: builds the request of a question.

    Raises:
        WorkspaceError: the disk is full or not writable.
        ReleaseError: an image changed.
    """
    file = BatchFile(path=out / _NAME.format(token))
    frame, limits = interface.frame, interface.limits
    size = len(frame.head) + len(frame.tail)
    try:
        with file.path.open("wb") as opened:
            opened.write(frame.head)
            while queue and len(file.turns) < min(most, limits.questions):
                turn = queue[0]
                try:
                    request = await requests.build(turn.question)
                    pieces = await interface.question(f"{token}-{len(file.turns)}", request)
                    grown = _fit(
                        pieces, size + len(frame.between), limits.size, alone=not file.turns
                    )
                except AnswerError as error:
                    file.refused.append((queue.popleft(), error))
                    continue
                if grown is None:
                    break
                size = grown
                between = (frame.between,) if file.turns else ()
                await asyncio.to_thread(opened.writelines, (*between, *pieces))
                file.turns.append(queue.popleft())
            opened.write(frame.tail)
    except OSError as error:
        raise WorkspaceError(
            f"{file.path}: cannot be written ({error.strerror}); a batch needs up to "
            f"{limits.size // 10**6} MB there until it is sent"
        ) from error
    return file


def delete_batch_files(out: Path) -> None:
    """Delete request files that a killed process left behind; they contain images."""
    for path in out.glob(_NAME.format("*")):
        path.unlink(missing_ok=True)


def _fit(pieces: Sequence[bytes], size: int, most: int, *, alone: bool) -> int | None:
    """Return the file size with one more question; ``None`` if it belongs in the next file."""
    grown = size + sum(map(len, pieces))
    if grown <= most:
        return grown
    if alone:
        raise RejectedError(
            f"the question has {grown:,} bytes; expected at most {most:,}", code="too-large"
        )
    return None
