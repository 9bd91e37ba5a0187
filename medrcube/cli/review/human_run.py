"""``medrcube review human-run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Directory, Json, ReleaseDir
from medrcube.cli.review.queue import open_queue
from medrcube.console.counts import counted

__all__ = ["human_run"]


def human_run(
    directory: Directory,
    release: ReleaseDir,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new run.")],
    group: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the group; never the name of a person.")
    ] = "reviewers",
    json_output: Json = False,
) -> None:
    """Write the reviewers' blind answers as a run.

    The run is called human/NAME and can be compared and reported like the run of a model. Only
    answers given before the reviewer could see the key count. For an item with several reviewers,
    one randomly chosen answer counts; agreement and majority vote are reported as well.
    """
    from medrcube.cli.options.releases import read_release
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.exchange.human_run import write_human_run

    human = write_human_run(read_release(release), out, group=group)
    reporter = Reporter(json_output=json_output)
    people, total = human.reviewers, human.run.metrics["global"]
    raw, most = people["agreement"]["raw"], people["majority"]
    reporter.result(
        f"{human.run.model}: {counted(people['reviewers'], 'reviewer')}, {people['answers']:,} "
        f"blind answers to {counted(people['items'], 'item')}; {people['rule']}"
    )
    if people["let_in_by_these_answers"]:
        reporter.result(
            f"UPPER BOUND {people['let_in_by_these_answers']:,} of these items are in the release "
            f"because reviewers accepted them, mostly reviewers who answered correctly"
        )
    interval = total["interval"]
    span = f" (95 % {100 * interval[0]:.1f} to {100 * interval[1]:.1f})" if interval else ""
    reporter.result(f"accuracy of a single reviewer {100 * total['accuracy']:.1f} %{span}")
    if raw["value"] is not None:
        reporter.result(
            f"two reviewers agreed on {100 * raw['value']:.1f} % of {counted(raw['items'], 'item')}"
        )
    if most["value"] is not None:
        reporter.result(
            f"the majority of three or more was right on {100 * most['value']:.1f} % of "
            f"{counted(most['items'], 'item')}"
        )
    reporter.result(f"wrote {out}; show it with  medrcube report {out} RUN... --out report.html")
    reporter.data({"out": str(out), "model": human.run.model, "reviewers": dict(people)})
