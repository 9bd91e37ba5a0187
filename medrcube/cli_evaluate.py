"""The commands that run models and show what came out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli_options import Json
from medrcube.errors import WorkspaceError

if TYPE_CHECKING:
    from medrcube.evaluate.conditions import Condition


def evaluate(
    directory: Annotated[Path, typer.Argument(metavar="RELEASE")],
    model: Annotated[str, typer.Option(metavar="PROVIDER/NAME")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    condition: Annotated[
        list[str] | None,
        typer.Option(help="full, blind, circular or image-swap; may be repeated."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="How often each question is asked.")] = 1,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    api_key_env: Annotated[
        str, typer.Option(help="Environment variable that holds the key.")
    ] = "OPENAI_API_KEY",
    max_connections: Annotated[int, typer.Option(min=1, max=1024)] = 10,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest reply.")] = 4096,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many items.")] = None,
    json_output: Json = False,
) -> None:
    """Run a model over a release; the same command again resumes."""
    from dataclasses import asdict

    from medrcube.console import Reporter
    from medrcube.evaluate.benchmark import load_benchmark
    from medrcube.evaluate.models.registry import ModelSettings, open_model
    from medrcube.evaluate.progress import watch
    from medrcube.evaluate.runner import run_evaluation

    reporter = Reporter(json_output=json_output)
    settings = ModelSettings(base_url=base_url, api_key_env=api_key_env, max_tokens=max_tokens)
    conditions = _conditions(condition or ["full"])
    benchmark = load_benchmark(directory)
    with watch(reporter) as on_progress:
        summary = run_evaluation(
            benchmark,
            open_model(model, settings),
            out,
            max_connections=max_connections,
            limit=limit,
            conditions=conditions,
            epochs=epochs,
            on_progress=on_progress,
        )
    reporter.result(
        f"{summary.asked:,} items: {summary.reused:,} reused, {summary.answered:,} answered, "
        f"{summary.failed:,} failed, {summary.missing:,} without a picture, in "
        f"{summary.seconds:.1f} s: {summary.out}"
    )
    if summary.exit_code:
        reporter.result("INCOMPLETE too many items have no reply; the same command goes on")
    reporter.data({**asdict(summary), "out": str(summary.out)})
    raise typer.Exit(summary.exit_code)


def score(run: Annotated[Path, typer.Argument(help="Folder of a run.")]) -> None:
    """Score the replies of a run again, without a model."""
    from medrcube.console import Reporter
    from medrcube.evaluate.run_folder import METRICS
    from medrcube.evaluate.scoring import score as score_run

    score_run(run)
    Reporter().result(f"wrote {run / METRICS}")


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
    benchmark: Annotated[
        Path | None, typer.Option("--release", help="Release, for example pictures.")
    ] = None,
) -> None:
    """Write one self-contained HTML page about one or several runs."""
    from medrcube.console import Reporter
    from medrcube.evaluate.report import write_report

    write_report(runs, out, benchmark)
    Reporter().result(f"wrote {out}")


def _conditions(names: list[str]) -> list[Condition]:
    from medrcube.evaluate.conditions import Condition

    known = [condition.value for condition in Condition]
    for name in names:
        if name not in known:
            raise WorkspaceError(f"no condition {name!r}; expected one of: {', '.join(known)}")
    return [Condition(name) for name in names]
