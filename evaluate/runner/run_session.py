"""Session of a run: send questions within the concurrency limit, store every reply.

One loop picks the next question; every attempt is its own task and builds its request when it is
sent, so that memory is bounded by the number of connections.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from medrcube.errors import MedrcubeError, ModelError
from medrcube.evaluate.cost.budget import Budget
from medrcube.evaluate.models.protocol import (
    AnswerError,
    Model,
    RejectedError,
    Reply,
    TransientError,
)
from medrcube.evaluate.models.single_request import send_request
from medrcube.evaluate.runner.attempt import error_record, reply_record
from medrcube.evaluate.runner.attempt_log import AttemptLog
from medrcube.evaluate.runner.conversations import history_digest
from medrcube.evaluate.runner.request_builder import RequestBuilder
from medrcube.evaluate.runner.run_folder import AskedQuestion, now
from medrcube.evaluate.runner.run_state import OnProgress, Rate, RunProgress
from medrcube.evaluate.runner.scheduling.adaptive_concurrency import ConcurrencyLimiter
from medrcube.evaluate.runner.scheduling.question_queue import QuestionQueue, QueuedQuestion
from medrcube.evaluate.runner.scheduling.retry_policy import RATE_LIMIT, RetryPolicy
from medrcube.evaluate.runner.scheduling.stall_watchdog import Watchdog

__all__ = ["PROBES", "PROBE_TRIES", "STOP_AFTER", "RunSession"]

STOP_AFTER = 10
"""Minimum number of consecutive failures after which the run stops: the server is down."""

PROBES = 3
"""Number of questions tried alone at first, since a refused one may itself be at fault."""

PROBE_TRIES = 3
"""Attempts at a probe, so that a wrong URL fails within seconds."""

_TICK = 1.0


@dataclass(slots=True, kw_only=True)
class RunSession:
    """Asks questions until all are answered or given up.

    Attributes:
        model: the model.
        requests: builds the request of a question.
        log: attempt log.
        retry: retry policy.
        pace: concurrency limit.
        budget: cost so far, and its limit.
        progress: progress of the run.
        on_progress: called after every change, from the event loop.
        cut_after: seconds after which an attempt is cancelled; ``None`` leaves that to the model.
        watchdog: notices a stall.
        models: model names in the replies.
    """

    model: Model
    requests: RequestBuilder
    log: AttemptLog
    retry: RetryPolicy
    pace: ConcurrencyLimiter
    budget: Budget
    progress: RunProgress
    on_progress: OnProgress
    cut_after: float | None = None
    watchdog: Watchdog = field(default_factory=Watchdog)
    models: set[str] = field(default_factory=set, init=False)
    _began: float = field(default=0.0, init=False)
    _rate: Rate = field(default_factory=Rate, init=False)
    _tasks: int = field(default=0, init=False)
    _failed_in_a_row: int = field(default=0, init=False)
    _probing: bool = field(default=False, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def ask_all(self, todo: Iterable[AskedQuestion]) -> None:
        """Ask every question, the steps of chains one after the other.

        Raises:
            MedrcubeError: the model cannot be used, or a file cannot be read or written.
        """
        self._began = time.monotonic()
        self._advance()
        conversations = self.requests.conversations
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(self._watch())
                for step in _by_step(todo):
                    # Steps that an earlier step prevents from being reached are left out.
                    rest = (
                        question for question in step if conversations.history(question) is not None
                    )
                    if self.progress.done_count == self.progress.failed:
                        await self._probe(rest, group)
                    await self._dispatch(QuestionQueue(rest), group)
                watch.cancel()
        except BaseExceptionGroup as errors:
            ours = errors.subgroup(MedrcubeError)
            if ours is None:
                raise errors from None
            error = _first(ours)
            raise error from error.__cause__
        finally:
            await self.model.close()

    async def _probe(self, rest: Iterator[AskedQuestion], group: asyncio.TaskGroup) -> None:
        """Ask the first question alone, so that a mistyped name fails at once."""
        self._probing = True
        for _, question in zip(range(PROBES), rest, strict=False):
            await self._dispatch(QuestionQueue([question]), group)
            if self.progress.done_count > self.progress.failed:
                break
        self._probing = False

    async def _dispatch(self, agenda: QuestionQueue, group: asyncio.TaskGroup) -> None:
        while True:
            clock, spent, empty = self._clock(), False, False
            self._changed.clear()
            while self.pace.room(clock):
                spent = self.budget.exhausted(self.pace.running)
                turn = None if spent else agenda.next(clock)
                if turn is None:
                    empty = agenda.due is None
                    break
                self.pace.note_request()
                self._tasks += 1
                group.create_task(self._try(turn, agenda))
            if not self._tasks and (empty or spent):
                return
            pauses = (agenda.due, self.pace.held_until(clock))
            ends = [at - clock for at in pauses if at is not None and at > clock]
            with suppress(TimeoutError):
                async with asyncio.timeout(min(ends, default=None)):
                    await self._changed.wait()

    async def _try(self, turn: QueuedQuestion, agenda: QuestionQueue) -> None:
        """Send a question, and retry it in place except after a rate limit."""
        try:
            while True:
                pause = await self._send(turn, agenda)
                if pause is None:
                    return
                await asyncio.sleep(pause)
        finally:
            self._tasks -= 1
            self._changed.set()

    async def _send(self, turn: QueuedQuestion, agenda: QuestionQueue) -> float | None:
        """Send once and record the result; return seconds until a retry in place, or ``None``."""
        turn.tries += 1
        key, name = str(turn.question.key), turn.question.item.name
        head = {"key": key, "item": name, "try": turn.tries, "at": now()}
        conversations = self.requests.conversations
        if turn.question.before and (history := conversations.history(turn.question)) is not None:
            head["history"] = history_digest(history)
        self.watchdog.note_request(key, name, self._clock())
        try:
            reply = await self._answer(turn.question)
        except AnswerError as error:
            self.watchdog.ended(key, self._clock())
            error_fields = error_record(error)
            await self.log.append({**head, **error_fields})
            self.budget.count(error_fields)
            return self._repeat(error, turn, agenda)
        self.watchdog.ended(key, self._clock())
        reply_fields = reply_record(reply)
        await self.log.append({**head, **reply_fields})
        conversations.hear(key, reply_fields)
        self.models.add(reply.model)
        self.budget.count(reply_fields)
        self.pace.answered(self._clock(), clean=turn.tries == 1)
        self._failed_in_a_row = 0
        self._advance(done_count=1)
        return None

    async def _answer(self, question: AskedQuestion) -> Reply:
        request = await self.requests.build(question)
        try:
            async with asyncio.timeout(self.cut_after):
                return await send_request(self.model, request)
        except TimeoutError:
            limit = "its own timeout" if self.cut_after is None else f"{self.cut_after:g} s"
            raise TransientError(f"no complete reply within {limit}", code="timeout") from None

    def _repeat(
        self, error: AnswerError, turn: QueuedQuestion, agenda: QuestionQueue
    ) -> float | None:
        clock = self._clock()
        limited = error.code == RATE_LIMIT
        turn.refusals += limited
        turn.errors += not limited
        wait = self._wait(error, turn.refusals if limited else turn.errors)
        if limited:
            hinted = isinstance(error, TransientError) and error.retry_after is not None
            self.pace.refused(clock, wait=wait or 0.0, hinted=hinted)
        if wait is None:
            if not limited:
                self.pace.failed()
            self.requests.conversations.give_up(str(turn.question.key))
            self._give_up(error, self._too_long(error))
            return None
        self._advance(retries=1, note=str(error))
        if not limited:
            return wait
        # Another question takes its slot: the server accepts some, just not as many.
        agenda.put_back(turn, due=clock + wait)
        return None

    def _wait(self, error: AnswerError, tries: int) -> float | None:
        if not isinstance(error, TransientError):
            return None
        if self._probing and error.code != RATE_LIMIT and tries >= PROBE_TRIES:
            return None
        return self.retry.wait(error, tries)

    def _too_long(self, error: AnswerError) -> str:
        if not (isinstance(error, TransientError) and self.retry.too_long(error)):
            return ""
        wait, most = error.retry_after, self.retry.longest_hint
        return f"; the server asks for a wait of {wait:,.0f} s; the limit is {most:,.0f} s"

    def _give_up(self, error: AnswerError, why: str = "") -> None:
        """Count a question without a reply.

        Raises:
            ModelError: too many questions in a row failed.
        """
        words = f"{error}{why}"
        self._advance(done_count=1, failed=1, note=words)
        progress = self.progress
        rejected = isinstance(error, RejectedError)
        if self._probing and not rejected:
            raise ModelError(f"the first question got no reply: {words}")
        # A refused question may itself be at fault if others are answered.
        if not (rejected and progress.reused + progress.done_count > progress.failed):
            self._failed_in_a_row += 1
        if self._failed_in_a_row >= max(STOP_AFTER, self.pace.most):
            raise ModelError(
                f"stopped: {self._failed_in_a_row} questions in a row failed, the last with: "
                f"{words}\nthe replies so far are kept; run the same command again to continue"
            )

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            if complaint := self.watchdog.complaint(self._clock()):
                self._advance(note=complaint)

    def _advance(
        self, *, done_count: int = 0, failed: int = 0, retries: int = 0, note: str | None = None
    ) -> None:
        progress = self.progress
        self.progress = replace(
            progress,
            done_count=progress.done_count + done_count,
            failed=progress.failed + failed,
            retries=progress.retries + retries,
            running=self.pace.running,
            limit=self.pace.limit,
            rate=self._rate.at(self._clock(), progress.done_count + done_count),
            cost=self.budget.spent if self.budget.prices else None,
            note=progress.note if note is None else note,
        )
        self.on_progress(self.progress)

    def _clock(self) -> float:
        return time.monotonic() - self._began


def _by_step(todo: Iterable[AskedQuestion]) -> list[list[AskedQuestion]]:
    """Group the questions by their number of earlier steps."""
    steps: dict[int, list[AskedQuestion]] = {}
    for question in todo:
        steps.setdefault(len(question.before), []).append(question)
    return [steps[number] for number in sorted(steps)]


def _first(errors: BaseExceptionGroup[MedrcubeError]) -> MedrcubeError:
    """Return the first error of a group; the others have the same cause."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MedrcubeError)  # noqa: S101 - the group was filtered
    return error
