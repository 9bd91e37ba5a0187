"""Batch session of a run: submit files, poll at growing intervals, store the results.

The order of the steps ensures that nothing is paid for twice. A batch is logged before it is sent;
one whose id was lost is searched for at the provider before its questions are asked again; and
replies are on disk before the batch counts as kept and is deleted at the provider.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from medrcube.console.counts import counted
from medrcube.errors import ModelError
from medrcube.evaluate.models.batch_api.protocol import BatchInterface, BatchState
from medrcube.evaluate.models.protocol import AnswerError, RejectedError, TransientError
from medrcube.evaluate.runner.attempt_log import open_log
from medrcube.evaluate.runner.batches.ledger import (
    FILE,
    BatchLedger,
    SentBatch,
    created_batch_ids,
    open_batches,
    open_batches_text,
)
from medrcube.evaluate.runner.batches.polling import Polling
from medrcube.evaluate.runner.batches.request_file import delete_batch_files, write_batch
from medrcube.evaluate.runner.batches.tally import BatchTally, question_of
from medrcube.evaluate.runner.run_folder import AskedQuestion
from medrcube.evaluate.runner.run_session import RunSession
from medrcube.evaluate.runner.run_state import RunProgress
from medrcube.evaluate.runner.scheduling.question_queue import QueuedQuestion
from medrcube.evaluate.runner.scheduling.retry_policy import RATE_LIMIT

__all__ = ["BatchSession", "in_batches"]

PILOT = 32
"""Questions in the first batch if a cost limit is set and few replies have a known price."""

_FEWEST = 10
"""Smallest batch for an account whose limit is currently exceeded."""

_ALL = 10**9


@dataclass(slots=True, kw_only=True)
class BatchSession:
    """Asks questions in batches until all are answered or given up.

    Attributes:
        single: asks the first question of a run alone, so that a wrong model name fails at once.
        interface: the provider's batch API.
        ledger: log of the batches.
        tally: progress of the questions.
        out: run folder.
        polling: polling intervals.
    """

    single: RunSession
    interface: BatchInterface
    ledger: BatchLedger
    tally: BatchTally
    out: Path
    polling: Polling
    _open: list[SentBatch] = field(default_factory=list, init=False)
    _through: dict[str, int] = field(default_factory=dict, init=False)
    _most: int = field(default=_ALL, init=False)
    _paused: bool = field(default=False, init=False)
    _heard: float = field(default=0.0, init=False)
    _hint: float = field(default=0.0, init=False)

    @property
    def progress(self) -> RunProgress:
        """Progress of the run."""
        return self.tally.progress

    @property
    def models(self) -> set[str]:
        """Model names in the replies."""
        return self.tally.models

    async def ask_all(self, todo: Iterable[AskedQuestion]) -> None:
        """Fetch the batches of earlier sessions, then ask the rest.

        Raises:
            MedrcubeError: the model cannot be used, or a file cannot be read or written.
        """
        delete_batch_files(self.out)
        self._open = open_batches(self.out)
        self.tally.want((QueuedQuestion(question=question) for question in todo), self._open)
        try:
            if self.tally.queue and not self._open and not self.single.budget.counted:
                await self.single.ask_all([self.tally.queue.popleft().question])
                self.tally.progress = self.single.progress
            await self._go_on()
        finally:
            await self.interface.close()
            await self.single.model.close()

    async def _go_on(self) -> None:
        self._heard, wait = time.monotonic(), self.polling.first
        self.tally.advance()
        while True:
            while self.tally.queue and not self._paused and (room := self._room()):
                await self._send(room)
            if not self._open and not (self.tally.queue and self._paused):
                return
            wait = max(wait, self._hint)
            self.tally.advance(waiting=self._words(wait))
            await asyncio.sleep(wait)
            self._paused, self._hint = False, 0.0
            ended = await self._look()
            longer = min(wait * self.polling.growth, self.polling.longest)
            wait = self.polling.first if ended else longer

    def _room(self) -> int:
        """Return how many questions may be sent now within the cost limit."""
        affordable = self.single.budget.affordable(sum(len(b.questions) for b in self._open))
        if affordable is None or affordable >= 2 * len(self.tally.queue):
            return self._most
        if self._open:
            return 0
        # Half of what the mean price of few replies allows: the next replies give a better
        # estimate.
        return min(max(min(PILOT, affordable), affordable // 2), self._most)

    async def _send(self, most: int) -> None:
        """Send one batch; questions that cannot be sent now return to the queue.

        Raises:
            ModelError: the provider refuses this batch, or all batches.
        """
        token = secrets.token_hex(8)
        file = await write_batch(
            self.out,
            token,
            self.tally.queue,
            most=most,
            interface=self.interface,
            requests=self.single.requests,
        )
        try:
            for turn, error in file.refused:
                await self.tally.refuse(turn, error)
            if file.turns:
                await self._hand_over(token, file.path, file.turns)
        except RejectedError as error:
            raise ModelError(f"the batch was refused: {error}") from None
        finally:
            file.path.unlink(missing_ok=True)

    async def _hand_over(self, token: str, path: Path, turns: list[QueuedQuestion]) -> None:
        try:
            uploaded = await self.interface.upload(path)
        except TransientError as error:
            self._put_back(turns, error)
            return
        sent_batch = await self.ledger.planned(token, [question_of(turn) for turn in turns])
        try:
            batch = await self.interface.create(uploaded, path, token)
        except TransientError as error:
            if error.code == RATE_LIMIT:
                await self.ledger.void(sent_batch, str(error))
                self._put_back(turns, error)
                return
            # It may have been created anyway; a later poll will tell.
            self._open.append(sent_batch)
            self._reach(error)
        except (RejectedError, ModelError) as error:
            await self.ledger.void(sent_batch, str(error))
            raise
        else:
            self._open.append(await self.ledger.created(sent_batch, batch))
            self._heard = time.monotonic()
        for turn in turns:
            turn.tries += 1

    def _put_back(self, turns: list[QueuedQuestion], error: TransientError) -> None:
        self.tally.queue.extendleft(reversed(turns))
        self._paused = True
        self._reach(error)

    async def _look(self) -> bool:
        """Poll every batch once; return whether one has ended."""
        ended = False
        for sent_batch in list(self._open):
            try:
                if sent_batch.batch is None:
                    await self._search(sent_batch)
                else:
                    state = await self.interface.state(sent_batch.batch)
                    if state.done_count is not None:
                        self._through[sent_batch.token] = state.done_count
                    ended |= state.ended and await self._settle(sent_batch.batch, sent_batch, state)
                self._heard = time.monotonic()
            except TransientError as error:
                self._reach(error)
        return ended

    def _reach(self, error: TransientError) -> None:
        """Tolerate an unresponsive provider, up to ``Polling.unreachable``.

        Raises:
            ModelError: it has not answered for too long.
        """
        self._hint = max(self._hint, min(error.retry_after or 0.0, self.polling.longest))
        self.tally.advance(note=str(error))
        silent = time.monotonic() - self._heard
        if silent > self.polling.unreachable:
            raise ModelError(
                f"no response about batches for {silent:,.0f} s: {error}\n"
                "batches under way continue at the provider; run the same command again to fetch "
                "their results"
            )

    async def _search(self, sent_batch: SentBatch) -> None:
        """Find a batch whose id was lost, or establish that the provider never accepted it."""
        if time.time() - sent_batch.at < self.polling.settled:
            return
        search = await self.interface.search(
            sent_batch.token,
            questions=len(sent_batch.questions),
            known_ids=set(created_batch_ids(self.out)),
            since=sent_batch.at,
        )
        place = self._open.index(sent_batch)
        if search.batch is not None:
            self._open[place] = await self.ledger.created(sent_batch, search.batch)
        elif search.unsure:
            self.tally.advance(
                note=f"the id of a batch of {counted(len(sent_batch.questions), 'question')} was "
                "lost; candidates at the provider can be identified only once they end"
            )
        else:
            await self.ledger.void(sent_batch, "the provider does not know it")
            del self._open[place]
            self.tally.again(sent_batch, "a batch never reached the provider; it is sent again")

    async def _settle(self, batch: str, sent_batch: SentBatch, state: BatchState) -> bool:
        """Store the results of a batch and requeue the rest; return whether it was run.

        Raises:
            ModelError: it was refused as a whole, or every question of it was.
        """
        if state.void:
            await self.ledger.void(sent_batch, state.void)
            self._open.remove(sent_batch)
            await self._forget(batch, state)
            if not state.crowded:
                raise ModelError(f"the batch {batch} was not run: {state.void}")
            self._most = max(_FEWEST, len(sent_batch.questions) // 2)
            self._paused = True
            self.tally.again(sent_batch, state.void)
            return False

        def letters(name: str) -> str:
            question = sent_batch.question(name)
            return "" if question is None else question.letters

        self.tally.advance(waiting="fetching the results of a batch")
        result = await self.tally.keep(
            batch, sent_batch, self.interface.results(batch, state, letters)
        )
        await self.ledger.log_kept(sent_batch, result.counts)
        self._open.remove(sent_batch)
        await self._forget(batch, state)
        if result.refused:
            raise ModelError(f"every question of the batch {batch} was refused: {result.refused}")
        return True

    async def _forget(self, batch: str, state: BatchState) -> None:
        """Delete a batch at the provider, since it contains images."""
        try:
            await self.interface.forget(batch, state)
        except (AnswerError, ModelError) as error:
            words = str(error).partition("\n")[0]
            self.tally.advance(note=f"{batch} could not be deleted at the provider: {words}")

    def _words(self, wait: float) -> str:
        then = datetime.fromtimestamp(time.time() + wait).astimezone()
        return f"{open_batches_text(self._open, self._through)}; next check at {then:%H:%M:%S}"


@contextmanager
def in_batches(
    single: RunSession, interface: BatchInterface, out: Path, polling: Polling
) -> Iterator[BatchSession]:
    """Yield the batch session of the run in ``out``.

    Raises:
        WorkspaceError: the list of batches cannot be written.
    """
    with open_log(out / FILE) as log:
        yield BatchSession(
            single=single,
            interface=interface,
            ledger=BatchLedger(log),
            tally=BatchTally(single=single, out=out),
            out=out,
            polling=polling,
        )
