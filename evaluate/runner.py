"""Ask a model every question of a benchmark, keep each reply the moment it comes, and resume.

A steady pool of workers draws from one list, so that no slow reply holds up the others; each
builds its request inside its own turn, so that memory is bounded by the number of connections.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from medrcube.errors import MedrcubeError, ModelError, ReleaseError
from medrcube.evaluate.attempts import AttemptLog, open_log, read_attempts
from medrcube.evaluate.benchmark import Benchmark
from medrcube.evaluate.conditions import Condition
from medrcube.evaluate.images import Picture, UnusablePictureError, read_picture
from medrcube.evaluate.models.contract import (
    AnswerError,
    Model,
    RejectedError,
    Request,
    TransientError,
)
from medrcube.evaluate.prompts import render_prompt
from medrcube.evaluate.run_folder import (
    Asked,
    attempts_path,
    begin_run,
    now,
    read_manifest,
    write_manifest,
)
from medrcube.evaluate.scoring import score

FAILURE_GATE = 0.05
"""A run counts as incomplete when a larger share of what was asked has no reply."""

STOP_AFTER = 10
"""The run stops when at least so many questions in a row fail: nobody is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a question is asked again.

    Attributes:
        attempts: tries of one question after errors other than a rate limit.
        rate_limited: tries of one question while the server says 429.
        first_wait: seconds before the second try; doubles from then on.
        longest_wait: upper bound of any wait, also of one that the server asks for.
    """

    attempts: int = 6
    rate_limited: int = 40
    first_wait: float = 1.0
    longest_wait: float = 60.0

    def wait(self, error: TransientError, tries: int) -> float | None:
        """Seconds to wait after try number ``tries``, or ``None`` to give up."""
        allowed = self.rate_limited if error.code == "429" else self.attempts
        if tries >= allowed:
            return None
        spread = random.uniform(0.5, 1.0)  # noqa: S311 - keeps workers from knocking in step
        backoff = self.first_wait * 2.0 ** min(tries - 1, 30) * spread
        if error.retry_after is not None:
            backoff = error.retry_after * (1 + 0.1 * spread)
        return min(backoff, self.longest_wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands.

    Attributes:
        total: items that the run asks, without those that have no picture.
        reused: of these, answered in an earlier session.
        done: finished in this session, failed ones too.
        failed: given up in this session.
        retries: tries that were repeated.
        note: the last trouble, in words; empty when there was none.
    """

    total: int
    reused: int
    done: int = 0
    failed: int = 0
    retries: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """How a run ended.

    Attributes:
        out: folder of the run.
        asked: items selected.
        reused: answered in an earlier session.
        answered: answered in this session.
        failed: without a reply after all tries.
        missing: without a usable picture, never asked.
        seconds: length of this session.
    """

    out: Path
    asked: int
    reused: int
    answered: int
    failed: int
    missing: int
    seconds: float

    @property
    def too_many_failures(self) -> bool:
        """Whether more than ``FAILURE_GATE`` of the items have no reply."""
        return self.failed + self.missing > FAILURE_GATE * self.asked

    @property
    def exit_code(self) -> int:
        """0, or 3 when the run is incomplete."""
        return 3 if self.too_many_failures else 0


OnProgress = Callable[[Progress], None]


def run_evaluation(
    benchmark: Benchmark,
    model: Model,
    out: Path,
    *,
    max_connections: int = 8,
    limit: int | None = None,
    conditions: Iterable[Condition] = (Condition.FULL,),
    epochs: int = 1,
    retry: RetryPolicy | None = None,
    on_progress: OnProgress | None = None,
) -> RunSummary:
    """Ask every item that has no reply yet, then score the run.

    Args:
        benchmark: what to ask.
        model: whom to ask.
        out: folder of the run; one that was begun the same way is continued.
        max_connections: questions that are under way at one time.
        limit: ask so many items only, drawn evenly by a hash.
        conditions: what of a question is shown; see ``conditions``.
        epochs: how often each question is asked.
        retry: how patiently to repeat.
        on_progress: called at the start and after every change, from the event loop.

    Raises:
        WorkspaceError: the folder belongs to another run, or cannot be written.
        ModelError: the model cannot be used; what was answered is kept.
        ReleaseError: a picture changed while the run was under way.
    """
    if max_connections < 1:
        raise ModelError(f"max connections is {max_connections}; expected at least 1")
    started = time.monotonic()
    asked = begin_run(out, benchmark, model, limit=limit, conditions=conditions, epochs=epochs)
    with open_log(attempts_path(out)) as log:
        records = read_attempts(attempts_path(out))
        replied = {record["key"] for record in records if record["status"] == "reply"}
        answerable = [a for a in asked if a.key is not None]
        # Two conditions may share a question; it is asked once.
        todo = list({a.key: a for a in answerable if a.key not in replied}.values())
        session = _Session(
            benchmark=benchmark,
            model=model,
            log=log,
            retry=retry or RetryPolicy(),
            on_progress=on_progress or _unwatched,
            stop_after=max(STOP_AFTER, max_connections),
            progress=Progress(total=len(answerable), reused=len(answerable) - len(todo)),
        )
        asyncio.run(session.ask_all(todo, max_connections))
    summary = RunSummary(
        out=out,
        asked=len(asked),
        reused=session.progress.reused,
        answered=session.progress.done - session.progress.failed,
        failed=session.progress.failed,
        missing=len(asked) - len(answerable),
        seconds=time.monotonic() - started,
    )
    counts = {
        name: getattr(summary, name)
        for name in ("asked", "reused", "answered", "failed", "missing")
    }
    write_manifest(out, {**read_manifest(out), "ended": now(), "counts": counts})
    score(out)
    return summary


@dataclass(slots=True, kw_only=True)
class _Session:
    """The state that the workers of one process share."""

    benchmark: Benchmark
    model: Model
    log: AttemptLog
    retry: RetryPolicy
    on_progress: OnProgress
    stop_after: int
    progress: Progress
    _failed_in_a_row: int = field(default=0, init=False)

    async def ask_all(self, todo: list[Asked], connections: int) -> None:
        self.on_progress(self.progress)
        queue = iter(todo)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(connections, len(todo))):
                    group.create_task(self._work(queue))
        except BaseExceptionGroup as errors:
            known = errors.subgroup(MedrcubeError)
            raise (_first(known) if known else errors) from None
        finally:
            await self.model.close()

    async def _work(self, queue: Iterator[Asked]) -> None:
        for asked in queue:
            error = await self._ask(asked)
            failed = error is not None
            note = str(error) if failed else self.progress.note
            self._advance(done=1, failed=int(failed), note=note)
            self._stop_if_hopeless(error)

    async def _ask(self, asked: Asked) -> AnswerError | None:
        """Ask one question until it is answered or given up; every try is recorded."""
        request = await asyncio.to_thread(self._request, asked)
        tries = 0
        while True:
            tries += 1
            head = {"key": asked.key, "item": asked.item.name, "try": tries, "at": now()}
            try:
                reply = await self.model.answer(request)
            except AnswerError as error:
                problem = {"status": "error", "code": error.code, "error": str(error)}
                await self.log.append({**head, **problem})
                wait = self.retry.wait(error, tries) if isinstance(error, TransientError) else None
                if wait is None:
                    return error
                self._advance(retries=1, note=str(error))
                await asyncio.sleep(wait)
            else:
                record = {
                    "status": "reply",
                    "text": reply.text,
                    "finish_reason": reply.finish_reason,
                    "usage": dict(reply.usage),
                    "model": reply.model,
                    "latency": round(reply.latency, 3),
                }
                await self.log.append({**head, **record})
                return None

    def _request(self, asked: Asked) -> Request:
        return Request(
            item=asked.item.name,
            prompt=render_prompt(asked.item),
            options=asked.item.options,
            picture=self._picture(asked),
        )

    def _picture(self, asked: Asked) -> Picture | None:
        if asked.presentation.image is None:
            return None
        path = self.benchmark.root / asked.presentation.image
        try:
            picture = read_picture(path)
        except UnusablePictureError as error:
            raise ReleaseError(f"{path}: vanished while the run was under way: {error}") from error
        if picture.sha256 != asked.image_sha256:
            raise ReleaseError(
                f"{path}: changed while the run was under way; begin a new run with the release "
                "as it is now"
            )
        return picture

    def _advance(self, *, done: int = 0, failed: int = 0, retries: int = 0, note: str) -> None:
        self.progress = replace(
            self.progress,
            done=self.progress.done + done,
            failed=self.progress.failed + failed,
            retries=self.progress.retries + retries,
            note=note,
        )
        self.on_progress(self.progress)

    def _stop_if_hopeless(self, error: AnswerError | None) -> None:
        """Stop when question after question fails; a refused one may be the question's own fault.

        Raises:
            ModelError: nothing was answered for long enough.
        """
        progress = self.progress
        answered = progress.reused + progress.done - progress.failed > 0
        if error is None:
            self._failed_in_a_row = 0
        elif not (isinstance(error, RejectedError) and answered):
            self._failed_in_a_row += 1
        if self._failed_in_a_row >= self.stop_after:
            raise ModelError(
                f"stopped: {self._failed_in_a_row} questions in a row failed, the last with: "
                f"{error}\nwhat was answered is kept; the same command goes on from there"
            )


def _first(errors: BaseExceptionGroup[MedrcubeError]) -> MedrcubeError:
    """The first error of a group; the others are the same trouble in other workers."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MedrcubeError)  # noqa: S101 - the group was filtered
    return error


def _unwatched(_progress: Progress) -> None:
    """Progress that nobody watches."""
