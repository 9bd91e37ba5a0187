"""Progress of the questions of a batch session: what is stored, what to ask again."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from medrcube.evaluate.models.protocol import AnswerError, RejectedError, Reply, TransientError
from medrcube.evaluate.runner.attempt import error_record, reply_record
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.batches.ledger import SentBatch, SentQuestion
from medrcube.evaluate.runner.run_folder import attempts_path, now
from medrcube.evaluate.runner.run_session import RunSession
from medrcube.evaluate.runner.run_state import RunProgress
from medrcube.evaluate.runner.scheduling.question_queue import QueuedQuestion

__all__ = ["BatchResult", "BatchTally", "question_of"]

_NO_LINE = "no-line"
_TOGETHER = 500
"""Maximum records per write to disk."""

Result = Reply | AnswerError


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """Stored results of a batch.

    Attributes:
        counts: results by finish reason or error code.
        refused: the provider's message if it refused every question; else empty.
    """

    counts: Mapping[str, int]
    refused: str = ""


@dataclass(slots=True, kw_only=True)
class BatchTally:
    """Stores and counts results, and keeps the questions that remain to be sent.

    Attributes:
        single: the session whose log, budget and retry policy are used.
        out: run folder.
        todo: questions of this session, by key.
        queue: those that remain to be sent.
        progress: progress of the run.
        models: model names in the replies.
    """

    single: RunSession
    out: Path
    todo: dict[str, QueuedQuestion] = field(default_factory=dict, init=False)
    queue: deque[QueuedQuestion] = field(default_factory=deque, init=False)
    progress: RunProgress = field(init=False)
    models: set[str] = field(init=False)
    _earlier: dict[tuple[str, str], bool] = field(init=False)

    def __post_init__(self) -> None:
        """Read the batch results of earlier sessions."""
        self.progress = self.single.progress
        self.models = self.single.models
        self._earlier = _earlier(self.out)

    def want(self, turns: Iterable[QueuedQuestion], batches: Iterable[SentBatch]) -> None:
        """Add questions; those in an open batch are not sent again."""
        self.todo = {str(turn.question.key): turn for turn in turns}
        in_batches = {question.key for batch in batches for question in batch.questions}
        self.queue.extend(turn for key, turn in self.todo.items() if key not in in_batches)

    async def keep(
        self, batch: str, sent_batch: SentBatch, results: AsyncIterator[tuple[str, Result]]
    ) -> BatchResult:
        """Store the results of a batch, except those that an earlier session stored.

        A question without a result line is asked again.
        """
        counts: Counter[str] = Counter()
        recorded = {key for of, key in self._earlier if of == batch}
        refused: list[str] = []
        fresh: list[tuple[SentQuestion, Result]] = []
        async for name, result in results:
            question = sent_batch.question(name)
            if question is None or question.key in recorded:
                continue
            recorded.add(question.key)
            fresh.append((question, result))
            if len(fresh) >= _TOGETHER:
                await self._record_all(batch, fresh, counts, refused)
        for question in sent_batch.questions:
            if question.key not in recorded:
                error = TransientError("the results have no line for it", code=_NO_LINE)
                fresh.append((question, error))
            else:
                self._count_earlier(batch, question.key)
        await self._record_all(batch, fresh, counts, refused)
        whole = len(refused) == len(sent_batch.questions) > 1
        return BatchResult(counts=counts, refused=refused[0] if whole else "")

    async def refuse(self, turn: QueuedQuestion, error: AnswerError) -> None:
        """Record that a question could not be sent."""
        await self._append(question_of(turn), turn.tries + 1, error_record(error))
        self.advance(done_count=1, failed=1, note=str(error))

    def again(self, sent_batch: SentBatch, why: str) -> None:
        """Requeue the questions of a batch that was not run."""
        turns = [
            self.todo[question.key]
            for question in sent_batch.questions
            if question.key in self.todo
        ]
        self.queue.extendleft(reversed(turns))
        self.advance(note=why)

    def advance(
        self,
        *,
        done_count: int = 0,
        failed: int = 0,
        retries: int = 0,
        note: str | None = None,
        waiting: str | None = None,
    ) -> None:
        """Update and report the progress."""
        progress, budget = self.progress, self.single.budget
        self.progress = replace(
            progress,
            done_count=progress.done_count + done_count,
            failed=progress.failed + failed,
            retries=progress.retries + retries,
            cost=budget.spent if budget.prices else None,
            note=progress.note if note is None else note,
            waiting=progress.waiting if waiting is None else waiting,
        )
        self.single.on_progress(self.progress)

    async def _record_all(
        self,
        batch: str,
        fresh: list[tuple[SentQuestion, Result]],
        counts: Counter[str],
        refused: list[str],
    ) -> None:
        """Write results together, and count them once they are on disk."""
        await asyncio.gather(*(self._record(batch, *pair) for pair in fresh))
        for _, result in fresh:
            counts[result.finish_reason if isinstance(result, Reply) else result.code] += 1
            if isinstance(result, RejectedError):
                refused.append(str(result))
        fresh.clear()

    async def _record(self, batch: str, question: SentQuestion, result: Result) -> None:
        turn = self.todo.get(question.key)
        tries = 1 if turn is None else max(1, turn.tries)
        reply_fields = reply_record(result) if isinstance(result, Reply) else error_record(result)
        record = {**reply_fields, "batch": batch}
        await self._append(question, tries, record)
        self.single.budget.count(record)
        if isinstance(result, Reply):
            self.models.add(result.model)
        if turn is None:
            return
        if isinstance(result, Reply):
            self.advance(done_count=1)
        elif isinstance(result, TransientError):
            self._retry(turn, str(result))
        else:
            self.advance(done_count=1, failed=1, note=str(result))

    def _count_earlier(self, batch: str, key: str) -> None:
        """Count a result that a killed session had stored."""
        replied = self._earlier.get((batch, key))
        if replied is None or key not in self.todo:
            return
        if replied:
            self.advance(done_count=1)
        else:
            self._retry(self.todo[key], "an attempt of an earlier session got no reply")

    def _retry(self, turn: QueuedQuestion, why: str) -> None:
        """Requeue a question for a further batch, unless its attempts are used up."""
        turn.errors += 1
        if turn.errors >= self.single.retry.attempts:
            self.advance(done_count=1, failed=1, note=why)
        else:
            self.queue.append(turn)
            self.advance(retries=1, note=why)

    async def _append(
        self, question: SentQuestion, tries: int, record: Mapping[str, object]
    ) -> None:
        head = {"key": question.key, "item": question.item, "try": tries, "at": now()}
        await self.single.log.append({**head, **record})


def question_of(turn: QueuedQuestion) -> SentQuestion:
    """Return a question as the batch ledger stores it."""
    item = turn.question.item
    letters = "".join(letter for letter, _ in item.options)
    return SentQuestion(str(turn.question.key), item.name, letters)


def _earlier(run: Path) -> dict[tuple[str, str], bool]:
    """Return whether each result on disk is a reply, by (batch, question key)."""
    return {
        (record["batch"], record["key"]): record["status"] == "reply"
        for record in read_attempts(attempts_path(run))
        if "batch" in record
    }
