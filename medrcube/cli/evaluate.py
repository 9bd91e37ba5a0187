"""The command that runs models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medrcube.cli.endings import Interrupted
from medrcube.cli.evaluation.dry_run import (
    DOCUMENTED,
    DryRun,
    Estimated,
    check_alone,
    tell_estimate,
    tell_forecast,
    tell_price_of_batches,
    tell_too_large,
)
from medrcube.cli.evaluation.each_model import each_model
from medrcube.cli.evaluation.run_end import tell, tell_so_far
from medrcube.cli.evaluation.selfcheck import selfchecked
from medrcube.cli.options.batch import Batch
from medrcube.cli.options.endpoint import (
    ApiKeyEnv,
    BaseUrl,
    ExtraBody,
    Logprobs,
    MaxTokens,
    Seed,
    System,
    Temperature,
)
from medrcube.cli.options.item_selection import (
    Anatomies,
    Ids,
    MaySend,
    Modalities,
    PresentOnly,
    Sources,
    Tasks,
    Where,
    choice_of,
    leave_of,
)
from medrcube.cli.options.local_model import (
    Attention,
    BatchSize,
    Device,
    Dtype,
    MaxPixels,
    MinPixels,
    Revision,
    ScoringName,
    SelfCheck,
    TrustRemoteCode,
    local_of,
)
from medrcube.cli.options.models import (
    Again,
    Conditions,
    Edition,
    Epochs,
    Limit,
    Models,
    Out,
    RereadImages,
)
from medrcube.cli.options.pacing import (
    MaxConnections,
    MaxCost,
    MaxRetries,
    NoAdaptiveConcurrency,
    PriceBatch,
    PriceIn,
    PriceOut,
    Timeout,
)
from medrcube.cli.options.prompting import (
    ImageDetail,
    ImageSize,
    PromptFile,
    ShotCount,
    ShotSeed,
    asking_of,
)
from medrcube.cli.options.shared import Json
from medrcube.cli.options.values import (
    again_of,
    conditions_of,
    number_of,
    object_of,
    prices_of,
    run_folders,
)

if TYPE_CHECKING:
    from medrcube.evaluate.runner.plan import RunPlan
    from medrcube.evaluate.runner.run_state import RunSummary


def evaluate(
    directory: Annotated[Path, typer.Argument(metavar="RELEASE")],
    model: Models,
    out: Out,
    condition: Conditions = None,
    edition: Edition = None,
    epochs: Epochs = 1,
    limit: Limit = None,
    reread_images: RereadImages = False,
    again: Again = None,
    temperature: Temperature = "0",
    max_tokens: MaxTokens = "4096",
    seed: Seed = None,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    logprobs: Logprobs = False,
    extra_body: ExtraBody = None,
    system: System = None,
    batch: Batch = False,
    max_connections: MaxConnections = None,
    no_adaptive_concurrency: NoAdaptiveConcurrency = False,
    timeout: Timeout = None,
    max_retries: MaxRetries = 5,
    max_cost: MaxCost = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    price_batch: PriceBatch = DOCUMENTED,
    task: Tasks = None,
    anatomy: Anatomies = None,
    modality: Modalities = None,
    source: Sources = None,
    where: Where = None,
    ids: Ids = None,
    present_only: PresentOnly = False,
    i_may_send: MaySend = None,
    batch_size: BatchSize = 8,
    dtype: Dtype = "auto",
    device: Device = "auto",
    attention: Attention = None,
    scoring: ScoringName = "generate",
    revision: Revision = None,
    min_pixels: MinPixels = None,
    max_pixels: MaxPixels = None,
    trust_remote_code: TrustRemoteCode = False,
    check: SelfCheck = False,
    prompt: PromptFile = None,
    shots: ShotCount = None,
    shots_seed: ShotSeed = 0,
    image_size: ImageSize = None,
    image_detail: ImageDetail = None,
    dry_run: DryRun = False,
    estimate: Estimated = False,
    json_output: Json = False,
) -> None:
    """Run a model over a release; the same command again resumes.

    Every reply is kept the moment it comes, so nothing but what was under way is ever lost, and
    "medrcube score" scores the replies again without a model. A picture that has the size, time
    and inode that it had when it was last read is not read again on resuming; --reread-images does.

    Exit status: 0 done; 2 wrong use, or the model cannot be used; 3 incomplete, because more than
    5 % of the questions have no reply or one that was cut before its answer, or --max-cost was
    reached; 130 stopped by hand. Of several models each is asked, and the worst status is given.
    """
    from dataclasses import asdict
    from functools import partial

    from medrcube.console.progress import Reporter
    from medrcube.evaluate.cost.estimate import estimate as cost_of
    from medrcube.evaluate.cost.forecast import forecast
    from medrcube.evaluate.dataset import load_benchmark
    from medrcube.evaluate.models.registry import DEFAULT_TIMEOUT, ModelSettings, open_model
    from medrcube.evaluate.questions.data_agreements import withhold_agreement_sources
    from medrcube.evaluate.runner.plan import plan_run
    from medrcube.evaluate.runner.progress_line import report_progress
    from medrcube.evaluate.runner.run import Polling, RetryPolicy, run_evaluation

    check_alone(dry_run=dry_run, estimate=estimate, again=again)
    reporter = Reporter(json_output=json_output)
    conditions = conditions_of(condition or ["full"])
    prices = prices_of(price_in, price_out, price_batch)
    limit_of_reply = number_of("--max-tokens", max_tokens)
    settings = ModelSettings(
        base_url=base_url,
        api_key_env=api_key_env,
        temperature=number_of("--temperature", temperature),
        max_tokens=None if limit_of_reply is None else int(limit_of_reply),
        seed=seed,
        timeout=timeout or DEFAULT_TIMEOUT,
        logprobs=logprobs,
        system=system,
        image_detail=image_detail,
        needs_key=not dry_run,
        extra_body=object_of("--extra-body", extra_body),
        local=local_of(
            model,
            batch_size=batch_size,
            dtype=dtype,
            device=device,
            attention=attention,
            scoring=scoring,
            trust_remote_code=trust_remote_code,
            revision=revision,
            min_pixels=min_pixels,
            max_pixels=max_pixels,
        ),
    )
    asking = asking_of(prompt, shots, shots_seed, image_size)
    folders = run_folders(model, out)
    benchmark = load_benchmark(directory)
    other = None if edition is None else load_benchmark(edition)
    choice = choice_of(task, anatomy, modality, source, where, ids, present_only=present_only)
    # All of them first: a wrong name must not show only after another model was asked.
    models = {name: open_model(name, settings) for name in folders}
    leave = {name: leave_of(i_may_send, benchmark, models[name], reporter) for name in folders}
    choices = {
        name: withhold_agreement_sources(choice, benchmark.items, models[name], leave[name])
        for name in folders
    }

    def plan(name: str) -> RunPlan:
        return plan_run(
            folders[name],
            benchmark,
            models[name],
            limit=limit,
            conditions=conditions,
            epochs=epochs,
            recheck=reread_images,
            edition=other,
            choice=choices[name],
            may_send=leave[name],
            asking=asking,
        )

    def ask(name: str, first: int | None = None) -> RunSummary:
        opened, sent = models[name], leave[name]
        suggested: int | None = getattr(opened, "suggested_connections", None)
        checked = (
            selfchecked(benchmark, opened, reporter, choices[name], asking, conditions)
            if check
            else None
        )
        try:
            with report_progress(reporter, timed=not batch) as on_progress:
                return run_evaluation(
                    benchmark,
                    opened,
                    folders[name],
                    max_connections=max_connections or suggested or 32,
                    fixed_connections=no_adaptive_concurrency or suggested is not None,
                    limit=limit,
                    conditions=conditions,
                    epochs=epochs,
                    retry=RetryPolicy(attempts=max_retries + 1),
                    timeout=timeout,
                    prices=prices,
                    max_cost=max_cost,
                    recheck=reread_images,
                    edition=other,
                    again=again_of(again),
                    first=first,
                    choice=choice,
                    may_send=sent,
                    asking=asking,
                    selfcheck=checked,
                    batches=Polling() if batch else None,
                    on_progress=on_progress,
                )
        except KeyboardInterrupt:
            so_far = tell_so_far(folders[name], reporter)
            raise Interrupted({"model": name, **so_far, "out": str(folders[name])}) from None

    def foresee(name: str) -> tuple[dict[str, Any], int]:
        tell_too_large(
            benchmark,
            choices[name],
            models[name],
            asking,
            conditions,
            partial(plan, name),
            reporter,
        )
        known = (folders[name], plan(name), models[name], asking)
        if batch and prices is not None:
            tell_price_of_batches(price_batch, reporter)
        if dry_run:
            of_run = prices.of_batches if batch and prices is not None else prices
            return tell_forecast(forecast(*known, of_run), reporter), 0
        measured = cost_of(*known, prices=prices, ask=partial(ask, name), batches=batch)
        return tell_estimate(measured, reporter), 0

    def ask_and_tell(name: str) -> tuple[dict[str, Any], int]:
        tell_too_large(
            benchmark,
            choices[name],
            models[name],
            asking,
            conditions,
            partial(plan, name),
            reporter,
        )
        summary = ask(name)
        tell(summary, reporter, directory, limit_of_reply)
        return {"model": name, **asdict(summary), "out": str(summary.out)}, summary.exit_code

    each_model(folders, foresee if dry_run or estimate else ask_and_tell, reporter)
