"""Batch ledger of a run: each step is logged before it is taken, so that a kill loses no batch.

``batches.jsonl`` is append-only: a batch is ``planned`` with a token and its questions before it is
sent, ``created`` when the provider has given it an id, and ``kept`` when its replies are on disk or
``void`` if none of it was run. Every other batch is still open at the provider.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError
from medrcube.evaluate.runner.attempt_log import AttemptLog, read_attempts

__all__ = [
    "FILE",
    "BatchLedger",
    "SentBatch",
    "SentQuestion",
    "created_batch_ids",
    "open_batches",
    "open_batches_text",
    "require_no_open_batches",
]

FILE = "batches.jsonl"


@dataclass(frozen=True, slots=True)
class SentQuestion:
    """One question of a batch.

    Attributes:
        key: digest of everything that may change the reply.
        item: its item.
        letters: letters of its options.
    """

    key: str
    item: str
    letters: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBatch:
    """A batch that was sent, or was about to be.

    Attributes:
        token: our id of the batch, chosen before it was sent.
        at: time of sending, in seconds since the epoch.
        questions: in order; the name of each is the token and its index.
        batch: the provider's id; ``None`` while unknown.
    """

    token: str
    at: float
    questions: tuple[SentQuestion, ...]
    batch: str | None = None

    def question(self, name: str) -> SentQuestion | None:
        """Return a question by name; ``None`` if the name belongs to another batch."""
        token, _, place = name.rpartition("-")
        belongs = token == self.token and place.isdecimal() and int(place) < len(self.questions)
        return self.questions[int(place)] if belongs else None


@dataclass(frozen=True, slots=True)
class BatchLedger:
    """Logs the steps of batches; each line is on disk before the next step."""

    log: AttemptLog

    async def planned(self, token: str, questions: Sequence[SentQuestion]) -> SentBatch:
        """Log that a batch is about to be sent."""
        sent_batch = SentBatch(token=token, at=time.time(), questions=tuple(questions))
        rows = [[question.key, question.item, question.letters] for question in questions]
        await self.log.append(
            {"event": "planned", "token": token, "at": sent_batch.at, "asks": rows}
        )
        return sent_batch

    async def created(self, sent_batch: SentBatch, batch: str) -> SentBatch:
        """Log the id that the provider has given to a batch."""
        await self.log.append({"event": "created", "token": sent_batch.token, "batch": batch})
        return replace(sent_batch, batch=batch)

    async def log_kept(self, sent_batch: SentBatch, counts: Mapping[str, int]) -> None:
        """Log that all results are on disk."""
        await self.log.append({"event": "kept", "token": sent_batch.token, "counts": dict(counts)})

    async def void(self, sent_batch: SentBatch, why: str) -> None:
        """Log that none of it was run."""
        await self.log.append({"event": "void", "token": sent_batch.token, "why": why})


def open_batches(run: Path) -> list[SentBatch]:
    """Return the open batches of a run, as far as the run knows.

    Raises:
        WorkspaceError: the file was changed by something else.
    """
    path = run / FILE
    batches: dict[str, SentBatch] = {}
    try:
        for record in read_attempts(path):
            _apply(record, batches)
    except (KeyError, TypeError, ValueError) as error:
        raise WorkspaceError(
            f"{path}: a line is not a record of a batch ({error!r}); restore the file, or its "
            "questions are asked and paid for again"
        ) from error
    return list(batches.values())


def created_batch_ids(run: Path) -> Iterator[str]:
    """Yield the provider ids of all batches of the run."""
    for record in read_attempts(run / FILE):
        if record.get("event") == "created":
            yield str(record["batch"])


def _apply(record: Mapping[str, Any], batches: dict[str, SentBatch]) -> None:
    event, token = record["event"], str(record["token"])
    if event == "planned":
        batches[token] = SentBatch(
            token=token, at=float(record["at"]), questions=tuple(_questions(record["asks"]))
        )
    elif event == "created":
        batches[token] = replace(batches[token], batch=str(record["batch"]))
    else:
        batches.pop(token, None)


def _questions(rows: Iterable[Sequence[str]]) -> Iterator[SentQuestion]:
    for key, item, letters in rows:
        yield SentQuestion(str(key), str(item), str(letters))


def require_no_open_batches(run: Path) -> None:
    """Refuse to ask questions individually that are already paid for in a batch.

    Raises:
        WorkspaceError: batches of the run are open.
    """
    if batches := open_batches(run):
        count = sum(len(batch.questions) for batch in batches)
        raise WorkspaceError(
            f"{run}: {counted(count, 'question')} in batches under way; the same command with  "
            "--batch  fetches their results; later calls may omit it"
        )


def open_batches_text(batches: Sequence[SentBatch], through: Mapping[str, int]) -> str:
    """Describe open batches in words.

    Args:
        batches: the open batches.
        through: number of finished questions by batch token, if the provider reports it.
    """
    counts = [through.get(batch.token) for batch in batches]
    questions = counted(sum(len(batch.questions) for batch in batches), "question")
    # Anthropic reports counts only at the end.
    if None not in counts:
        done_count = sum(count for count in counts if count is not None)
        questions = f"{done_count:,} of {questions} done"
    return f"{counted(len(batches), 'batch')} under way, {questions}"
