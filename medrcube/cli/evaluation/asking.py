"""One model of ``medrcube evaluate``: plan its run, forecast its cost, or run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from traceback import format_exception
from typing import TYPE_CHECKING, Any

from medrcube.cli.endings import Interrupted
from medrcube.cli.evaluation.dry_run import (
    tell_estimate,
    tell_forecast,
    tell_price_of_batches,
    tell_too_large,
)
from medrcube.cli.evaluation.run_end import tell, tell_so_far
from medrcube.cli.evaluation.selfcheck import selfchecked
from medrcube.console.verbosity import Verbosity, verbosity
from medrcube.errors import ModelError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.cost.budget import Prices
    from medrcube.evaluate.dataset import Benchmark
    from medrcube.evaluate.models.protocol import Model
    from medrcube.evaluate.outcomes import AnswerOutcome
    from medrcube.evaluate.questions.conditions import Condition
    from medrcube.evaluate.questions.question_setup import QuestionSetup
    from medrcube.evaluate.questions.selection import ItemFilter
    from medrcube.evaluate.runner.plan import RunPlan
    from medrcube.evaluate.runner.run_state import RunSummary

__all__ = ["EvaluationJob", "Pacing", "ask_model", "foresee_model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """Concurrency, retry and cost limits for one model."""

    max_connections: int | None
    adaptive: bool
    max_retries: int
    timeout: float | None
    prices: Prices | None
    price_batch: float
    max_cost: float | None
    batch: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationJob:
    """What a command asks of one model.

    Attributes:
        release: folder of the release.
        out: folder of the run.
        name: of the model.
        item_filter: items that the options choose.
        sendable: the same without those that may not be sent to this model.
        may_send: sources under an agreement whose images may be sent.
        again: outcomes of questions to ask again.
        limit_of_reply: maximum tokens of a reply.
        selfcheck: whether to verify first that batching changes no answer.
    """

    release: Path
    out: Path
    name: str
    benchmark: Benchmark
    edition: Benchmark | None
    model: Model
    item_filter: ItemFilter
    sendable: ItemFilter
    may_send: frozenset[str]
    asking: QuestionSetup
    conditions: Sequence[Condition]
    epochs: int
    limit: int | None
    reread_images: bool
    again: Sequence[AnswerOutcome]
    limit_of_reply: float | None
    selfcheck: bool
    pacing: Pacing

    def plan(self) -> RunPlan:
        """The questions of the run, and which of them have a reply."""
        from medrcube.evaluate.runner.plan import plan_run

        return plan_run(
            self.out,
            self.benchmark,
            self.model,
            limit=self.limit,
            conditions=self.conditions,
            epochs=self.epochs,
            recheck=self.reread_images,
            edition=self.edition,
            choice=self.sendable,
            may_send=self.may_send,
            asking=self.asking,
        )


def ask_model(job: EvaluationJob, reporter: Reporter) -> tuple[Mapping[str, Any], int]:
    """Ask the unanswered questions; return the JSON output and the exit status.

    Raises:
        Interrupted: stopped by hand; carries the counts so far.
    """
    _tell_too_large(job, reporter)
    summary = _run(job, reporter)
    tell(summary, reporter, job.release, job.limit_of_reply)
    return {"model": job.name, **asdict(summary), "out": str(summary.out)}, summary.exit_code


def foresee_model(
    job: EvaluationJob, reporter: Reporter, *, dry_run: bool
) -> tuple[Mapping[str, Any], int]:
    """Forecast the run, or estimate its cost from a sample; return the JSON output and 0."""
    from medrcube.evaluate.cost.estimate import estimate
    from medrcube.evaluate.cost.forecast import forecast

    _tell_too_large(job, reporter)
    pacing, prices = job.pacing, job.pacing.prices
    run = (job.out, job.plan(), job.model, job.asking)
    if pacing.batch and prices is not None:
        tell_price_of_batches(pacing.price_batch, reporter)
    if dry_run:
        of_run = prices.of_batches if pacing.batch and prices is not None else prices
        return tell_forecast(forecast(*run, of_run), reporter), 0
    ask = partial(_run, job, reporter)
    measured = estimate(*run, prices=prices, ask=ask, batches=pacing.batch)
    return tell_estimate(measured, reporter), 0


def _run(job: EvaluationJob, reporter: Reporter, first: int | None = None) -> RunSummary:
    """Ask the model; only the ``first`` items where a number is given."""
    from medrcube.evaluate.runner.progress_line import report_progress
    from medrcube.evaluate.runner.run import Polling, RetryPolicy, run_evaluation

    pacing = job.pacing
    suggested: int | None = getattr(job.model, "suggested_connections", None)
    selfcheck = None
    try:
        if job.selfcheck:
            selfcheck = selfchecked(
                job.benchmark, job.model, reporter, job.sendable, job.asking, job.conditions
            )
        with report_progress(reporter, timed=not pacing.batch) as on_progress:
            return run_evaluation(
                job.benchmark,
                job.model,
                job.out,
                max_connections=pacing.max_connections or suggested or 32,
                fixed_connections=not pacing.adaptive or suggested is not None,
                limit=job.limit,
                conditions=job.conditions,
                epochs=job.epochs,
                retry=RetryPolicy(attempts=pacing.max_retries + 1),
                timeout=pacing.timeout,
                prices=pacing.prices,
                max_cost=pacing.max_cost,
                recheck=job.reread_images,
                edition=job.edition,
                again=job.again,
                first=first,
                choice=job.item_filter,
                may_send=job.may_send,
                asking=job.asking,
                selfcheck=selfcheck,
                batches=Polling() if pacing.batch else None,
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        so_far = tell_so_far(job.out, reporter)
        raise Interrupted({"model": job.name, **so_far, "out": str(job.out)}) from None
    except ModelError as error:
        if verbosity() is Verbosity.VERBOSE and error.__cause__ is not None:
            reporter.note("".join(format_exception(error.__cause__)))
        raise


def _tell_too_large(job: EvaluationJob, reporter: Reporter) -> None:
    tell_too_large(
        job.benchmark, job.sendable, job.model, job.asking, job.conditions, job.plan, reporter
    )
