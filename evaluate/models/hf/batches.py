"""Form batches of questions of similar cost, and halve them on out-of-memory errors.

Independent of torch. The engine computes in two threads: one prepares the next batch while the
other computes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol

from medrcube.errors import ModelError
from medrcube.evaluate.models.protocol import AnswerError, ModelRequest, RejectedError

__all__ = [
    "QUIET",
    "WINDOW",
    "Batcher",
    "ErrorKind",
    "Generation",
    "GenerationEngine",
    "GenerationJob",
]

QUIET = 0.02
"""Seconds without a new question after which an idle engine starts an incomplete batch."""

WINDOW = 4
"""Number of batches to keep queued, so that questions of similar length can be grouped."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationJob:
    """One question, ready to be batched.

    Attributes:
        request: the question.
        text: its text by the chat template, with unexpanded placeholders.
        length: number of text and image tokens, which determines time and memory.
    """

    request: ModelRequest
    text: str
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Output of the engine for one question; see ``Reply``."""

    text: str
    finish_reason: str
    usage: dict[str, int]
    scores: dict[str, float]


class ErrorKind(Enum):
    """Kind of an engine error."""

    MEMORY = auto()
    """The batch was too large."""

    QUESTION = auto()
    """One of the questions cannot be computed."""

    DEVICE = auto()
    """Nothing can be computed any more."""


class GenerationEngine(Protocol):
    """Computes batches; each method blocks, and ``answer`` is called from one thread only."""

    def prepare(self, jobs: Sequence[GenerationJob]) -> Any:
        """Create the tensors of a batch; may run concurrently with ``answer``."""
        ...

    def answer(self, prepared: Any) -> Sequence[Generation]:
        """Compute a prepared batch: one generation per job, in order."""
        ...

    def judge(self, error: Exception) -> ErrorKind:
        """Classify an exception raised by the two methods."""
        ...

    def free(self) -> None:
        """Release unused memory of the device."""
        ...

    def stop(self) -> None:
        """Make the current computation end soon."""
        ...

    def go(self) -> None:
        """Allow computation again after ``stop``."""
        ...


@dataclass(slots=True, eq=False)
class _WaitingJob:
    job: GenerationJob
    answer: asyncio.Future[Generation]


class Batcher:
    """Collects the questions of many coroutines into batches; belongs to one event loop.

    Args:
        engine: the engine.
        batch_size: maximum number of questions in a batch.
    """

    def __init__(self, engine: GenerationEngine, *, batch_size: int) -> None:
        self._engine = engine
        self._batch_size = batch_size
        self._most_tokens: int | None = None
        self._waiting: list[_WaitingJob] = []
        self._changed = asyncio.Event()
        self._preparing = ThreadPoolExecutor(1, "medrcube-prepare")
        self._computing = ThreadPoolExecutor(1, "medrcube-compute")
        self._busy: asyncio.Task[None] | None = None
        self._driver: asyncio.Task[None] | None = None
        engine.go()

    async def submit(self, make: Callable[[], GenerationJob]) -> Generation:
        """Create a job in the preparation thread, and wait for its generation.

        Raises:
            RejectedError: this question cannot be computed.
            ModelError: nothing can be computed.
        """
        loop = asyncio.get_running_loop()
        job = await loop.run_in_executor(self._preparing, make)
        if self._driver is None or self._driver.done():
            self._driver = loop.create_task(self._drive())
            self._driver.add_done_callback(self._driven)
        waiting = _WaitingJob(job, loop.create_future())
        self._waiting.append(waiting)
        self._changed.set()
        return await waiting.answer

    async def close(self) -> None:
        """Stop computing; waiting questions are cancelled."""
        self._engine.stop()
        tasks = [task for task in (self._driver, self._busy) if task is not None]
        for task in tasks:
            task.cancel()
        # Errors were already delivered to the callers.
        await asyncio.gather(*tasks, return_exceptions=True)
        for waiting in self._waiting:
            waiting.answer.cancel()
        for pool in (self._preparing, self._computing):
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)

    async def _drive(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = await self._gather()
            jobs = [waiting.job for waiting in batch]
            try:
                prepared = await loop.run_in_executor(self._preparing, self._prepared, jobs)
                if self._busy is not None:
                    await self._busy
            except asyncio.CancelledError:
                _cancel(batch)
                raise
            self._busy = loop.create_task(self._compute(batch, jobs, prepared))
            self._busy.add_done_callback(self._wake)

    def _driven(self, driver: asyncio.Task[None]) -> None:
        """Pass the error of a failed driver to all waiting callers."""
        if not driver.cancelled() and (error := driver.exception()) is not None:
            for waiting in self._waiting:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)

    def _wake(self, _task: asyncio.Task[None]) -> None:
        self._changed.set()

    async def _gather(self) -> list[_WaitingJob]:
        """Wait for a full batch, or until the engine is idle and no question arrives."""
        while True:
            self._waiting = [waiting for waiting in self._waiting if not waiting.answer.done()]
            self._changed.clear()
            idle = self._busy is None or self._busy.done()
            if len(self._waiting) >= self._batch_size * (WINDOW if idle else 1):
                return self._pick()
            if not self._waiting or not idle:
                await self._changed.wait()
                continue
            try:
                await asyncio.wait_for(self._changed.wait(), QUIET)
            except TimeoutError:
                return self._pick()

    def _pick(self) -> list[_WaitingJob]:
        """Return the question that has waited longest, with those closest to it in length."""
        first = self._waiting[0]
        blind = first.job.request.picture is None
        alike = [w for w in self._waiting if (w.job.request.picture is None) == blind]
        alike.sort(key=lambda w: (w is not first, abs(w.job.length - first.job.length)))
        batch: list[_WaitingJob] = []
        for waiting in alike[: self._batch_size]:
            if batch and self._too_large([w.job for w in (*batch, waiting)]):
                break
            batch.append(waiting)
        chosen_ids = set(map(id, batch))
        self._waiting = [w for w in self._waiting if id(w) not in chosen_ids]
        return batch

    def _prepared(self, jobs: Sequence[GenerationJob]) -> _PreparedBatch:
        try:
            return _PreparedBatch(value=self._engine.prepare(jobs))
        except Exception as error:  # noqa: BLE001 - judged where the batch is computed
            return _PreparedBatch(error=error)

    async def _compute(
        self, batch: Sequence[_WaitingJob], jobs: Sequence[GenerationJob], prepared: _PreparedBatch
    ) -> None:
        loop = asyncio.get_running_loop()
        answers: Sequence[Generation | Exception]
        try:
            answers = await loop.run_in_executor(self._computing, self._answers, jobs, prepared)
        except asyncio.CancelledError:
            _cancel(batch)
            raise
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            answers = [error] * len(batch)
        for waiting, answer in zip(batch, answers, strict=True):
            if waiting.answer.done():
                continue
            if isinstance(answer, Generation):
                waiting.answer.set_result(answer)
            else:
                waiting.answer.set_exception(answer)

    def _answers(
        self, jobs: Sequence[GenerationJob], prepared: _PreparedBatch | None = None
    ) -> Sequence[Generation | AnswerError]:
        """Compute a batch; halve it until it fits, or until the failing question is alone."""
        if len(jobs) > 1 and self._too_large(jobs):
            return self._halves(jobs)
        prepared_batch = prepared or self._prepared(jobs)
        outcome = self._try(prepared_batch)
        if not isinstance(outcome, _BatchFailure):
            return outcome
        # The exception is gone, and with it the frames that keep the batch's tensors alive.
        prepared_batch.drop()
        if outcome.trouble is ErrorKind.DEVICE:
            raise ModelError(f"the device fails: {outcome.message}\nthe replies so far are kept")
        if outcome.trouble is ErrorKind.MEMORY:
            self._engine.free()
        if len(jobs) == 1:
            return [outcome.rejected()]
        if outcome.trouble is ErrorKind.MEMORY:
            self._remember(jobs)
        return self._halves(jobs)

    def _try(self, batch: _PreparedBatch) -> Sequence[Generation] | _BatchFailure:
        try:
            if batch.error is not None:
                raise batch.error  # noqa: TRY301 - judged like one of the computation
            return self._engine.answer(batch.value)
        except ModelError:
            raise
        except RejectedError as error:
            return _BatchFailure(trouble=ErrorKind.QUESTION, message=str(error))
        except Exception as error:  # noqa: BLE001 - the engine knows what it means
            message = f"{type(error).__name__}: {error}"
            return _BatchFailure(trouble=self._engine.judge(error), message=message)

    def _halves(self, jobs: Sequence[GenerationJob]) -> Sequence[Generation | AnswerError]:
        middle = (len(jobs) + 1) // 2
        return [*self._answers(jobs[:middle]), *self._answers(jobs[middle:])]

    def _too_large(self, jobs: Sequence[GenerationJob]) -> bool:
        """Whether a batch exceeds a token limit learnt after it was formed."""
        return self._most_tokens is not None and _tokens(jobs) > self._most_tokens

    def _remember(self, jobs: Sequence[GenerationJob]) -> None:
        """Limit later batches to half as many tokens, padding included."""
        tokens = _tokens(jobs)
        self._most_tokens = min(self._most_tokens or tokens, tokens // 2)
        _log.warning(
            "out of memory with %d questions together; continuing with at most %d tokens at a time",
            len(jobs),
            self._most_tokens,
        )


@dataclass(slots=True, kw_only=True)
class _PreparedBatch:
    """The tensors of a batch, or the error that prevented them."""

    value: Any = None
    error: Exception | None = field(default=None)

    def drop(self) -> None:
        self.value = self.error = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _BatchFailure:
    """Why a batch was not computed."""

    trouble: ErrorKind
    message: str

    def rejected(self) -> RejectedError:
        short = " ".join(self.message.split())[:500]
        if self.trouble is ErrorKind.MEMORY:
            return RejectedError(
                f"does not fit into memory, even alone: {short}", code="out-of-memory"
            )
        return RejectedError(f"cannot be computed: {short}", code="model-error")


def _tokens(jobs: Sequence[GenerationJob]) -> int:
    return len(jobs) * max(job.length for job in jobs)


def _cancel(batch: Sequence[_WaitingJob]) -> None:
    for waiting in batch:
        waiting.answer.cancel()
