"""Progress of the questions of a batch session: what is stored, what is asked again."""

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
"""Records that are written to the disk at a time."""

Result = Reply | AnswerError


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """What was kept of a batch.

    Attributes:
        counts: results by what they say: why a model stopped, or the code of an error.
        refused: what the provider said where it refused every question; empty otherwise.
    """

    counts: Mapping[str, int]
    refused: str = ""


@dataclass(slots=True, kw_only=True)
class BatchTally:
    """Keeps results, counts them, and knows which questions are still to be sent.

    Attributes:
        single: the session whose store, budget and patience are used.
        out: folder of the run.
        todo: questions that this session is asked for, by key.
        queue: those of them that are to be sent.
        progress: where the run stands.
        models: names by which the provider answered.
    """

    single: RunSession
    out: Path
    todo: dict[str, QueuedQuestion] = field(default_factory=dict, init=False)
    queue: deque[QueuedQuestion] = field(default_factory=deque, init=False)
    progress: RunProgress = field(init=False)
    models: set[str] = field(init=False)
    _earlier: dict[tuple[str, str], bool] = field(init=False)

    def __post_init__(self) -> None:
        """Read what earlier sessions kept of batches."""
        self.progress = self.single.progress
        self.models = self.single.models
        self._earlier = _earlier(self.out)

    def want(self, turns: Iterable[QueuedQuestion], sent: Iterable[SentBatch]) -> None:
        """Take over questions; those that a batch holds already are not sent again."""
        self.todo = {str(turn.asked.key): turn for turn in turns}
        in_batches = {question.key for batch in sent for question in batch.questions}
        self.queue.extend(turn for key, turn in self.todo.items() if key not in in_batches)

    async def keep(
        self, batch: str, sent: SentBatch, results: AsyncIterator[tuple[str, Result]]
    ) -> BatchResult:
        """Keep the results of a batch on the disk; one that an earlier session kept stays.

        A question without a line is asked again.
        """
        counts: Counter[str] = Counter()
        recorded = {key for of, key in self._earlier if of == batch}
        refused: list[str] = []
        fresh: list[tuple[SentQuestion, Result]] = []
        async for name, result in results:
            question = sent.question(name)
            if question is None or question.key in recorded:
                continue
            recorded.add(question.key)
            fresh.append((question, result))
            if len(fresh) >= _TOGETHER:
                await self._record_all(batch, fresh, counts, refused)
        for question in sent.questions:
            if question.key not in recorded:
                error = TransientError("the results have no line for it", code=_NO_LINE)
                fresh.append((question, error))
            else:
                self._count_earlier(batch, question.key)
        await self._record_all(batch, fresh, counts, refused)
        whole = len(refused) == len(sent.questions) > 1
        return BatchResult(counts=counts, refused=refused[0] if whole else "")

    async def refuse(self, turn: QueuedQuestion, error: AnswerError) -> None:
        """Keep that a question could not be sent."""
        await self._append(question_of(turn), turn.tries + 1, error_record(error))
        self.advance(done=1, failed=1, note=str(error))

    def again(self, sent: SentBatch, why: str) -> None:
        """Send the questions of a batch of which nothing was run."""
        turns = [
            self.todo[question.key] for question in sent.questions if question.key in self.todo
        ]
        self.queue.extendleft(reversed(turns))
        self.advance(note=why)

    def advance(
        self,
        *,
        done: int = 0,
        failed: int = 0,
        retries: int = 0,
        note: str | None = None,
        waiting: str | None = None,
    ) -> None:
        """Count, and tell where the run stands."""
        progress, budget = self.progress, self.single.budget
        self.progress = replace(
            progress,
            done=progress.done + done,
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
        """Write results together, and count them once they are on the disk."""
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
            self.advance(done=1)
        elif isinstance(result, TransientError):
            self._retry(turn, str(result))
        else:
            self.advance(done=1, failed=1, note=str(result))

    def _count_earlier(self, batch: str, key: str) -> None:
        """Count what a session that was killed had kept of this batch."""
        replied = self._earlier.get((batch, key))
        if replied is None or key not in self.todo:
            return
        if replied:
            self.advance(done=1)
        else:
            self._retry(self.todo[key], "a try of an earlier session had no reply")

    def _retry(self, turn: QueuedQuestion, why: str) -> None:
        """Ask a question again in a further batch, unless that was done often enough."""
        turn.errors += 1
        if turn.errors >= self.single.retry.attempts:
            self.advance(done=1, failed=1, note=why)
        else:
            self.queue.append(turn)
            self.advance(retries=1, note=why)

    async def _append(
        self, question: SentQuestion, tries: int, record: Mapping[str, object]
    ) -> None:
        head = {"key": question.key, "item": question.item, "try": tries, "at": now()}
        await self.single.log.append({**head, **record})


def question_of(turn: QueuedQuestion) -> SentQuestion:
    """A question as the list of batches holds it."""
    item = turn.asked.item
    letters = "".join(letter for letter, _ in item.options)
    return SentQuestion(str(turn.asked.key), item.name, letters)


def _earlier(run: Path) -> dict[tuple[str, str], bool]:
    """Whether it was a reply, by batch and question, of every result that is on the disk."""
    return {
        (record["batch"], record["key"]): record["status"] == "reply"
        for record in read_attempts(attempts_path(run))
        if "batch" in record
    }
