"""Run an evaluation: ask every question, store each reply at once, resume."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medrcube.errors import ModelError, WorkspaceError
from medrcube.evaluate.collection_pause import collection_paused
from medrcube.evaluate.cost.budget import Budget, Prices
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.models.batch_api.registry import batches_of
from medrcube.evaluate.models.protocol import Json, Model
from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.data_agreements import withhold_agreement_sources
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.questions.selection import ItemFilter
from medrcube.evaluate.runner.agenda import Agenda
from medrcube.evaluate.runner.attempt_log import open_log, read_attempts
from medrcube.evaluate.runner.batches.ledger import require_no_open_batches
from medrcube.evaluate.runner.batches.polling import Polling
from medrcube.evaluate.runner.batches.session import BatchSession, in_batches
from medrcube.evaluate.runner.begin_run import write_plan
from medrcube.evaluate.runner.plan import RunPlan, plan_run
from medrcube.evaluate.runner.question_states import count_outcomes
from medrcube.evaluate.runner.request_builder import RequestBuilder
from medrcube.evaluate.runner.run_folder import (
    RESULTS,
    attempts_path,
    now,
    read_manifest,
    write_manifest,
)
from medrcube.evaluate.runner.run_session import RunSession
from medrcube.evaluate.runner.run_state import FAILURE_GATE, OnProgress, RunProgress, RunSummary
from medrcube.evaluate.runner.scheduling.adaptive_concurrency import ConcurrencyLimiter
from medrcube.evaluate.runner.scheduling.retry_policy import RetryPolicy
from medrcube.evaluate.runner.scheduling.stall_watchdog import STALLED_AFTER, Watchdog
from medrcube.evaluate.score_files import UPSTREAM_METRICS, UPSTREAM_RESULTS
from medrcube.evaluate.stored_scores import read_metrics, read_outcomes, withdrawn_items
from medrcube.release_format.errata import errata_digest

__all__ = [
    "FAILURE_GATE",
    "OnProgress",
    "Polling",
    "Prices",
    "RetryPolicy",
    "RunProgress",
    "RunSummary",
    "run_evaluation",
]

_KEPT_SESSIONS = 100


def run_evaluation(
    benchmark: Benchmark,
    model: Model,
    out: Path,
    *,
    max_connections: int = 32,
    fixed_connections: bool = False,
    limit: int | None = None,
    conditions: Iterable[Condition] = (Condition.FULL,),
    epochs: int = 1,
    retry: RetryPolicy | None = None,
    timeout: float | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    recheck: bool = False,
    edition: Benchmark | None = None,
    again: Iterable[AnswerOutcome] = (),
    first: int | None = None,
    choice: ItemFilter | None = None,
    may_send: Iterable[str] = (),
    asking: QuestionSetup | None = None,
    selfcheck: Mapping[str, Json] | None = None,
    stalled_after: float = STALLED_AFTER,
    batches: Polling | None = None,
    on_progress: OnProgress | None = None,
) -> RunSummary:
    """Ask every question that has no reply yet, then score the run.

    Args:
        benchmark: the release.
        model: the model.
        out: run folder; a run with the same identity is resumed.
        max_connections: maximum number of concurrent questions.
        fixed_connections: always use ``max_connections`` instead of adapting to the server.
        limit: maximum number of items, drawn by a hash.
        conditions: evaluation conditions; see ``conditions``.
        epochs: repetitions of each question.
        retry: retry policy.
        timeout: seconds after which an attempt is cancelled; ``None`` leaves that to the model.
        prices: prices of tokens.
        max_cost: US dollars over all sessions of the run, at which no further question is asked.
        recheck: read every image, even if it looks unchanged.
        edition: another edition of the release, for the condition ``reworded``.
        again: ask only the questions of a run with these outcomes; the last reply counts. The model
            may differ from the run's only in the reply limit.
        first: ask only the first items of the draw in this session; the others remain to be asked.
        choice: which items to ask; all by default.
        may_send: sources under a data agreement, by folder, that may be sent to another machine;
            the others are left out if the model runs remotely.
        asking: question setup; the default of this version if omitted.
        selfcheck: result of the batch invariance check, for the manifest.
        stalled_after: seconds of silence after which the progress names the oldest question.
        batches: polling of the provider's batch API; ``None`` asks questions individually.
        on_progress: called at the start and after every change, from the event loop.

    Raises:
        WorkspaceError: the folder belongs to another run, or cannot be written.
        ModelError: the model cannot be used; the replies so far are stored.
        ReleaseError: an image changed during the run.
    """
    if max_connections < 1:
        raise ModelError(f"max connections is {max_connections}; expected at least 1")
    interface = None if batches is None else batches_of(model)
    if interface is None:
        require_no_open_batches(out)
    started, began = now(), time.monotonic()
    budget = Budget(prices=prices, most=max_cost)
    repeated_outcomes, sendable = frozenset(again), frozenset(may_send)
    plan = plan_run(
        out,
        benchmark,
        model,
        limit=limit,
        conditions=conditions,
        epochs=epochs,
        recheck=recheck,
        edition=edition,
        again=bool(repeated_outcomes),
        choice=withhold_agreement_sources(choice or ItemFilter(), benchmark.items, model, sendable),
        may_send=sendable,
        asking=asking,
    )
    _require_no_chains(plan, batches)
    write_plan(out, plan)
    if selfcheck is not None:
        write_manifest(out, {**read_manifest(out), "selfcheck": dict(selfcheck)})
    pace = ConcurrencyLimiter(highest=max_connections, fixed=fixed_connections)
    with open_log(attempts_path(out)) as log, ExitStack() as stack:
        before = _Before.read(attempts_path(out), budget)
        agenda = Agenda.of(
            plan, attempts_path(out), before.replied, again=repeated_outcomes, first=first
        )
        todo = agenda.todo
        session = RunSession(
            model=model,
            requests=RequestBuilder(
                images=benchmark.images,
                asking=plan.asking,
                examples=plan.examples,
                conversations=agenda.conversations,
            ),
            log=log,
            retry=retry or RetryPolicy(),
            pace=pace,
            budget=budget,
            progress=agenda.progress(),
            on_progress=on_progress or _unwatched,
            cut_after=timeout,
            watchdog=Watchdog(patience=stalled_after),
        )
        way: RunSession | BatchSession = session
        if batches is not None and interface is not None:
            way = stack.enter_context(in_batches(session, interface, out, batches))
        manifest = read_manifest(out)
        if todo:
            # Recorded now, so that a killed session is on record too.
            manifest |= _with_session(manifest, started, model, repeated_outcomes, len(todo))
            write_manifest(out, {**manifest, "ended": None})
        asyncio.run(way.ask_all(todo))
    summary = agenda.summary(
        out,
        way.progress,
        seconds=time.monotonic() - began,
        cost=budget.spent if prices else None,
        max_cost=max_cost,
    )
    if todo:
        manifest["sessions"][-1] = _session_row(started, summary, pace)
    if todo or not manifest["ended"]:
        manifest["ended"] = None if summary.left else now()
        manifest["models"] = sorted(before.models | way.models)
    _score(out, manifest)
    return replace(summary, ends=count_outcomes(read_outcomes(out)))


def _with_session(
    manifest: Mapping[str, Any],
    started: str,
    model: Model,
    repeated: Collection[AnswerOutcome],
    questions: int,
) -> dict[str, Any]:
    """Return the manifest entries that a new session adds."""
    before_this = manifest.get("sessions", [])[-_KEPT_SESSIONS + 1 :]
    added: dict[str, Any] = {"sessions": [*before_this, {"started": started, "ended": None}]}
    if repeated:
        once = {"at": started, "ended": sorted(repeated), "questions": questions}
        settings = dict(model.identity).get("parameters")
        added["again"] = [*manifest.get("again", []), {**once, "parameters": settings}]
    return added


def _session_row(started: str, summary: RunSummary, pace: ConcurrencyLimiter) -> Mapping[str, Any]:
    names = (
        "reused",
        "answered",
        "failed",
        "missing",
        "unreached",
        "shared",
        "left",
        "cost",
        "stopped",
    )
    return {
        "started": started,
        "ended": now(),
        **{name: getattr(summary, name) for name in names},
        "connections": pace.to_json(),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """Replies and models of earlier sessions."""

    replied: frozenset[str]
    models: frozenset[str]

    @classmethod
    @collection_paused()
    def read(cls, path: Path, budget: Budget) -> _Before:
        replied, models = set[str](), set[str]()
        for record in read_attempts(path):
            if record["status"] == "reply":
                replied.add(record["key"])
                models.add(record["model"])
            budget.count(record)
        return cls(replied=frozenset(replied), models=frozenset(models))


def _require_no_chains(plan: RunPlan, batches: Polling | None) -> None:
    """Refuse to ask a run with chains in batches.

    Raises:
        ModelError: the run has chains and batches are requested.
    """
    if batches is not None and Condition.CHAIN in plan.changing["conditions"]:
        raise ModelError(
            "condition chain: each step needs the reply to the previous one, and a batch returns "
            "replies only at its end; leave out --batch, or ask chains in another run folder"
        )


def _score(out: Path, manifest: Mapping[str, Any]) -> None:
    """Score the run, unless its scores are already based on the same replies."""
    stamp = {
        "attempts": attempts_path(out).stat().st_size,
        "listed": manifest["listed"],
        "withdrawn": errata_digest(withdrawn_items(out)),
    }
    if manifest.get("scored") != stamp or not _has_scores(out):
        # Takes half a second to import, which a session without new replies does not need.
        from medrcube.evaluate.scoring import score  # noqa: PLC0415

        score(out)
    write_manifest(out, {**manifest, "scored": stamp})


def _has_scores(out: Path) -> bool:
    try:
        read_metrics(out)
    except WorkspaceError:
        return False
    return all((out / name).exists() for name in (RESULTS, UPSTREAM_RESULTS, UPSTREAM_METRICS))


def _unwatched(_progress: RunProgress) -> None:
    """Ignore the progress."""
