"""``medrcube score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.evaluation.score_replies import Model, Out, Release, Replies, score_file
from medrcube.cli.options.shared import Json
from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError

__all__ = ["score"]


def score(
    run: Annotated[Path | None, typer.Argument(metavar="RUN", help="Run to rescore.")] = None,
    replies: Replies = None,
    release: Release = None,
    out: Out = None,
    model: Model = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER/NAME",
            help="Model that parses replies the rules cannot; it sees no question, image or key.",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Endpoint of the judge.")
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Environment variable with the key; default: that of the provider."
        ),
    ] = None,
    max_connections: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=1024, help="Maximum concurrent requests to the judge."
        ),
    ] = 8,
    json_output: Json = False,
) -> None:
    """Score a run, or replies from elsewhere.

    Calls no model unless --judge is given. Unknown, repeated and missing items of a file are
    counted and listed; an item without a reply counts as failed, never as wrong. With --release,
    items withdrawn by the errata of that release are left out.

    Exit status: 0 scored; 2 usage error, or nothing could be scored; 3 incomplete: some questions
    were not asked yet, over 5 % have no reply or one that was cut off, the run lacks questions that
    its manifest lists, or part of the file could not be used.
    """
    from medrcube.console.progress import Reporter

    reporter = Reporter(json_output=json_output)
    if replies is not None:
        if run is not None or release is None or judge is not None:
            raise WorkspaceError(
                "--replies FILE needs --release RELEASE and excludes RUN and --judge; to use a "
                "judge, store the replies with --out DIR and score that run"
            )
        raise typer.Exit(3 if score_file(replies, release, out, model, reporter) else 0)
    if run is None or out is not None or model is not None:
        raise WorkspaceError("expected the folder of a run, or --replies FILE --release RELEASE")
    from medrcube.evaluate.errata import take_errata
    from medrcube.evaluate.judge.run import ask_judge
    from medrcube.evaluate.models.registry import open_model
    from medrcube.evaluate.models.settings import ModelSettings
    from medrcube.evaluate.reporting.interval_text import accuracy_line
    from medrcube.evaluate.runner.completeness import list_problems
    from medrcube.evaluate.runner.question_states import QuestionStates, count_outcomes
    from medrcube.evaluate.runner.run_folder import METRICS
    from medrcube.evaluate.scoring import read_by_rules
    from medrcube.evaluate.scoring import score as score_run
    from medrcube.evaluate.stored_scores import read_outcomes

    if release is not None and (back := sorted(take_errata(run, release))):
        reporter.result(
            f"not withdrawn in {release}: {counted(len(back), 'item')} that the run left out, such "
            f"as {back[0]}; they count again; is its errata.csv missing?"
        )
    judged = None
    if judge is not None:
        opened = open_model(judge, ModelSettings(base_url=base_url, api_key_env=api_key_env))
        judged = ask_judge(run, opened, read_by_rules(run), max_connections=max_connections)
    metrics = score_run(run, judged)
    if metrics["withdrawn"]:
        reporter.result(
            f"left out: {counted(len(metrics['withdrawn']), 'item')} withdrawn by errata"
        )
    standing = QuestionStates(count_outcomes(read_outcomes(run)))
    reporter.result(f"{counted(sum(standing.ends.values()), 'question')}: {standing}")
    reporter.result(accuracy_line(metrics["global"]))
    reporter.result(f"wrote {run / METRICS}")
    if standing.incomplete:
        reporter.result(f"INCOMPLETE {standing.incomplete}")
    lacking = list_problems(run)
    for gap in lacking:
        reporter.result(f"ERROR {gap}")
    reporter.data(
        {
            "metrics": str(run / METRICS),
            **metrics,
            "ends": standing.ends,
            "incomplete": standing.incomplete,
            "gaps": lacking,
        }
    )
    raise typer.Exit(3 if standing.incomplete or lacking else 0)
