"""The commands that run models and show what came out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli_asking import again_of, number_of, object_of, prices_of, run_folders
from medrcube.cli_local import (
    Attention,
    BatchSize,
    Device,
    Dtype,
    Revision,
    ScoringName,
    SelfCheck,
    TrustRemoteCode,
)
from medrcube.cli_options import Json
from medrcube.cli_selection import (
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
from medrcube.errors import WorkspaceError

if TYPE_CHECKING:
    from medrcube.console import Reporter
    from medrcube.evaluate.benchmark import Benchmark
    from medrcube.evaluate.conditions import Condition
    from medrcube.evaluate.models.contract import Json as JsonValue
    from medrcube.evaluate.models.contract import Model
    from medrcube.evaluate.running.summary import RunSummary
    from medrcube.evaluate.selection import Choice

_LEFT_OUT = {
    "may-not-be-sent": "whose pictures are under an agreement that lets you send them nowhere "
    "unless you say so with --i-may-send SOURCE",
    "not-there": "whose picture is not there",
}
_NONE = "none leaves it to the server."


def evaluate(
    directory: Annotated[Path, typer.Argument(metavar="RELEASE")],
    model: Annotated[
        list[str],
        typer.Option(
            metavar="PROVIDER/NAME",
            help="openai/NAME behind an endpoint, hf/PATH on this machine, baseline/RULE; each "
            "one more is a run of its own.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Folder of the run; one that is there goes on. Of several models: of the folders.",
        ),
    ],
    condition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="full, blind, circular, image-swap or reworded; may be repeated. Default: full.",
        ),
    ] = None,
    edition: Annotated[
        Path | None,
        typer.Option(
            metavar="RELEASE",
            help="Another edition of the release (build --seed), for the condition reworded.",
        ),
    ] = None,
    epochs: Annotated[
        int, typer.Option(metavar="N", min=1, help="How often each question is asked.")
    ] = 1,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Only so many items, a fair draw."),
    ] = None,
    recheck: Annotated[
        bool,
        typer.Option("--recheck", help="Read every picture again on resuming."),
    ] = False,
    again: Annotated[
        str | None,
        typer.Option(
            metavar="cut,failed",
            help="Ask only questions that ended so; --max-tokens may then be larger.",
        ),
    ] = None,
    temperature: Annotated[str, typer.Option(metavar="NUMBER|none", help=_NONE)] = "0",
    max_tokens: Annotated[
        str,
        typer.Option(metavar="NUMBER|none", help=f"Longest reply; {_NONE}"),
    ] = "4096",
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Of the sampling, where it has one.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="OpenAI-compatible endpoint, http://host:8000/v1."),
    ] = None,
    api_key_env: Annotated[
        str,
        typer.Option(metavar="NAME", help="Environment variable that holds the key."),
    ] = "OPENAI_API_KEY",
    logprobs: Annotated[
        bool,
        typer.Option("--logprobs", help="Keep the log-probability of each letter."),
    ] = False,
    extra_body: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Further fields of the request, an object."),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="System prompt, for a model behind an endpoint."),
    ] = None,
    max_connections: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1000,
            help="Most questions under way at a time. Default: 32, or as a local model suggests.",
        ),
    ] = None,
    fixed: Annotated[
        bool,
        typer.Option(
            "--fixed-connections",
            help="So many at once, instead of finding out what the server takes.",
        ),
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="Seconds for one whole request; an endpoint has 120 by default.",
        ),
    ] = None,
    max_retries: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Of one question, rate limits apart."),
    ] = 5,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="USD", help="Stop before the run costs more."),
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="USD", help="Of a million tokens sent."),
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="USD", help="Of a million tokens written."),
    ] = None,
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
    trust_remote_code: TrustRemoteCode = False,
    check: SelfCheck = False,
    json_output: Json = False,
) -> None:
    """Run a model over a release; the same command again resumes.

    Every reply is kept the moment it comes, so nothing but what was under way is ever lost, and
    "medrcube score" scores the replies again without a model. A picture that has the size, time
    and inode that it had when it was last read is not read again on resuming; --recheck does.

    Exit status: 0 done; 2 wrong use, or the model cannot be used; 3 incomplete, because more than
    5 % of the questions have no reply or one that was cut before its answer, --max-cost was
    reached or the run was stopped by hand.
    """
    from dataclasses import asdict

    from medrcube.console import Reporter
    from medrcube.evaluate.benchmark import load_benchmark
    from medrcube.evaluate.models.hf_settings import LocalSettings
    from medrcube.evaluate.models.registry import DEFAULT_TIMEOUT, ModelSettings, open_model
    from medrcube.evaluate.running.progress import watch
    from medrcube.evaluate.running.runner import RetryPolicy, run_evaluation

    reporter = Reporter(json_output=json_output)
    conditions = _conditions(condition or ["full"])
    prices = prices_of(price_in, price_out)
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
        extra_body=object_of("--extra-body", extra_body),
        local=LocalSettings(
            batch_size=batch_size,
            dtype=dtype,
            device=device,
            attention=attention,
            scoring=scoring,
            trust_remote_code=trust_remote_code,
            revision=revision,
        ),
    )
    folders = run_folders(model, out)
    benchmark = load_benchmark(directory)
    other = None if edition is None else load_benchmark(edition)
    choice = choice_of(task, anatomy, modality, source, where, ids, present_only=present_only)
    blind = any(name.value == "blind" for name in conditions)

    def ask(name: str, folder: Path) -> RunSummary:
        opened = open_model(name, settings)
        sent = leave_of(i_may_send, benchmark, opened, reporter)
        suggested: int | None = getattr(opened, "suggested_connections", None)
        found = (
            _selfcheck(benchmark, opened, reporter, choice, sent, blind=blind) if check else None
        )
        with watch(reporter) as on_progress:
            return run_evaluation(
                benchmark,
                opened,
                folder,
                max_connections=max_connections or suggested or 32,
                fixed_connections=fixed or suggested is not None,
                limit=limit,
                conditions=conditions,
                epochs=epochs,
                retry=RetryPolicy(attempts=max_retries + 1),
                timeout=timeout,
                prices=prices,
                max_cost=max_cost,
                recheck=recheck,
                edition=other,
                again=again_of(again),
                choice=choice,
                may_send=sent,
                selfcheck=found,
                on_progress=on_progress,
            )

    summaries = []
    for name, folder in folders.items():
        if len(folders) > 1:
            reporter.result(f"{name}:")
        summaries.append(ask(name, folder))
        _tell(summaries[-1], reporter, directory, limit_of_reply)
    rows = [{**asdict(summary), "out": str(summary.out)} for summary in summaries]
    reporter.data(rows[0] if len(rows) == 1 else {"runs": rows})
    raise typer.Exit(max(summary.exit_code for summary in summaries))


def _tell(
    summary: RunSummary, reporter: Reporter, directory: Path, limit_of_reply: float | None
) -> None:
    """Say how a run ended, and what to do where it did not end well."""
    shared = f"{summary.shared:,} the same as another, " if summary.shared else ""
    reporter.result(
        f"{summary.asked:,} questions: {summary.reused:,} reused, {summary.answered:,} answered, "
        f"{shared}{summary.failed:,} failed, {summary.missing:,} without a picture, in "
        f"{summary.seconds:.1f} s: {summary.out}"
    )
    reporter.result(
        "all sessions: " + ", ".join(f"{count:,} {end}" for end, count in summary.ends.items())
    )
    for why, count in summary.left_out.items():
        reporter.result(f"left out: {count:,} items, {_LEFT_OUT[why]}")
    if summary.cost is not None:
        reporter.result(f"cost so far: {summary.cost:.2f} US dollars")
    if summary.stopped:
        reporter.result(f"INCOMPLETE {summary.stopped}, {summary.left:,} questions are left")
    elif summary.exit_code:
        reporter.result("INCOMPLETE too many questions have no reply, or one that was cut")
    if summary.again:
        longer = f" --max-tokens {4 * int(limit_of_reply or 4096)}" if summary.cut else ""
        reporter.result(
            f"the same command with  --again {summary.again}{longer}  asks only those again"
        )
    if summary.exit_code and not summary.stopped and summary.missing:
        reporter.result("to ask only what is there, in a run of its own: --present-only")
        reporter.result(f"pictures that were left out:  medrcube reconstruct {directory}")


def score(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER/NAME",
            help="Model that reads what the rules cannot; it sees no question, picture or key.",
        ),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Endpoint of the judge.")] = None,
    api_key_env: Annotated[
        str, typer.Option(help="Environment variable that holds the key.")
    ] = "OPENAI_API_KEY",
    max_connections: Annotated[int, typer.Option(min=1, max=1024)] = 8,
    json_output: Json = False,
) -> None:
    """Score the replies of a run again, without a model unless a judge is named."""
    from medrcube.console import Reporter
    from medrcube.evaluate.judging import ask_judge
    from medrcube.evaluate.models.registry import ModelSettings, open_model
    from medrcube.evaluate.running.run_folder import METRICS
    from medrcube.evaluate.scoring import read_by_rules
    from medrcube.evaluate.scoring import score as score_run

    judged = None
    if judge is not None:
        model = open_model(judge, ModelSettings(base_url=base_url, api_key_env=api_key_env))
        judged = ask_judge(run, model, read_by_rules(run), max_connections=max_connections)
    found = score_run(run, judged)
    reporter = Reporter(json_output=json_output)
    reporter.result(f"wrote {run / METRICS}")
    reporter.data({"metrics": str(run / METRICS), **found})


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
    benchmark: Annotated[
        Path | None, typer.Option("--release", help="Release, for pictures of what went wrong.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Every table as CSV, JSON and Parquet.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Write one self-contained HTML page about one or several runs.

    Page and tables follow from the benchmark, the replies and the settings alone. What asking
    took, such as tries, cost and time, is printed instead.
    """
    from medrcube.console import Reporter
    from medrcube.evaluate.report import write_report
    from medrcube.evaluate.reporting.effort import effort, effort_table

    reporter = Reporter(json_output=json_output)
    tables = write_report(runs, out, benchmark, data)
    efforts = [effort(run) for run in runs]
    reporter.table(*effort_table(efforts))
    reporter.result(f"wrote {out}")
    if data is not None:
        reporter.result(f"wrote {len(tables)} files of tables to {data}")
    if tables and not any(table.suffix == ".parquet" for table in tables):
        reporter.note("no Parquet: pyarrow is not installed; run  pip install 'medrcube[evaluate]'")
    reporter.data(
        {
            "page": str(out),
            "tables": list(map(str, tables)),
            "effort": [one.to_json() for one in efforts],
        }
    )


def _conditions(names: list[str]) -> list[Condition]:
    from medrcube.evaluate.conditions import Condition

    known = [condition.value for condition in Condition]
    for name in names:
        if name not in known:
            raise WorkspaceError(f"no condition {name!r}; expected one of: {', '.join(known)}")
    return [Condition(name) for name in names]


def _selfcheck(
    benchmark: Benchmark,
    model: Model,
    reporter: Reporter,
    choice: Choice,
    may_send: Collection[str],
    *,
    blind: bool,
) -> Mapping[str, JsonValue]:
    from dataclasses import replace

    from medrcube.evaluate.contracts import without_contracts
    from medrcube.evaluate.selection import choose
    from medrcube.evaluate.selfcheck import selfcheck

    # It sends pictures too.
    kept = without_contracts(choice, benchmark.items, model, may_send)
    asked = replace(benchmark, items=choose(benchmark, kept).items)
    found = selfcheck(asked, model, blind=blind)
    reporter.note(f"selfcheck: {found.questions} questions get the same answers in batches")
    return found.to_json()
