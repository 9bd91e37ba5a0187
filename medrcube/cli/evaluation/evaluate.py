"""``medrcube evaluate``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from medrcube.cli.evaluation.each_model import each_model
from medrcube.cli.options.batch import Batch
from medrcube.cli.options.before_run import DryRun, Estimate, check_alone
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
    may_send_of,
    note_undeclared_place,
    note_unknown_forms,
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
    BATCH_PRICE,
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
from medrcube.cli.options.shared import Json, ReleaseDir
from medrcube.cli.options.values import (
    again_of,
    conditions_of,
    number_of,
    object_of,
    prices_of,
    run_folders,
)

if TYPE_CHECKING:
    from medrcube.cli.evaluation.asking import EvaluationJob

__all__ = ["evaluate"]


def evaluate(
    directory: ReleaseDir,
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
    price_batch: PriceBatch = BATCH_PRICE,
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
    estimate: Estimate = False,
    json_output: Json = False,
) -> None:
    """Evaluate models on a release.

    Safe to re-run: resumes an interrupted run. Each reply is stored as it arrives, and "medrcube
    score" rescores the stored replies without a model. On resuming, image files whose size, time
    and inode are unchanged are not read again, unless --reread-images is given.

    Exit status: 0 done; 2 usage error, or the model cannot be used; 3 incomplete: over 5 % of the
    questions have no reply or one cut before its answer, or --max-cost was reached; 130 stopped by
    Ctrl-C. With several models, each is evaluated and the worst status is returned.
    """
    from medrcube.cli.evaluation.asking import EvaluationJob, Pacing, ask_model, foresee_model
    from medrcube.cli.options.releases import read_release
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.dataset import load_benchmark
    from medrcube.evaluate.models.registry import open_model
    from medrcube.evaluate.models.settings import DEFAULT_TIMEOUT, ModelSettings
    from medrcube.evaluate.questions.data_agreements import withhold_agreement_sources

    check_alone(dry_run=dry_run, estimate=estimate, again=again)
    reporter = Reporter(json_output=json_output)
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
    pacing = Pacing(
        max_connections=max_connections,
        adaptive=not no_adaptive_concurrency,
        max_retries=max_retries,
        timeout=timeout,
        prices=prices_of(price_in, price_out, price_batch),
        price_batch=price_batch,
        max_cost=max_cost,
        batch=batch,
    )
    conditions, degradation = conditions_of(condition or ["full"])
    asking = replace(asking_of(prompt, shots, shots_seed, image_size), degradation=degradation)
    folders = run_folders(model, out)
    benchmark = read_release(directory)
    note_unknown_forms(benchmark, reporter)
    other = None if edition is None else load_benchmark(edition)
    item_filter = choice_of(task, anatomy, modality, source, where, ids, present_only=present_only)

    def job_of(name: str) -> EvaluationJob:
        opened = open_model(name, settings)
        may_send = may_send_of(i_may_send, benchmark, opened, reporter)
        sendable = withhold_agreement_sources(item_filter, benchmark.items, opened, may_send)
        note_undeclared_place(opened, sendable, reporter)
        return EvaluationJob(
            release=directory,
            out=folders[name],
            name=name,
            benchmark=benchmark,
            edition=other,
            model=opened,
            item_filter=item_filter,
            sendable=sendable,
            may_send=may_send,
            asking=asking,
            conditions=conditions,
            epochs=epochs,
            limit=limit,
            reread_images=reread_images,
            again=again_of(again),
            limit_of_reply=limit_of_reply,
            selfcheck=check,
            pacing=pacing,
        )

    # All of them first: a wrong name must not show only after another model was asked.
    jobs = {name: job_of(name) for name in folders}
    foresee = partial(foresee_model, reporter=reporter, dry_run=dry_run)
    handle = foresee if dry_run or estimate else partial(ask_model, reporter=reporter)
    each_model(folders, lambda name: handle(jobs[name]), reporter)
