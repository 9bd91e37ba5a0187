"""``medrcube review gold`` and ``reviewers``: known defects, and who finds them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Json
from medrcube.cli.review_exchange import Directory, open_queue
from medrcube.console.counts import counted


def register(app: typer.Typer) -> None:
    """Add the two commands."""
    app.command()(gold)
    app.command()(reviewers)


def gold(
    directory: Directory = Path(),
    from_defects: Annotated[
        int, typer.Option(min=0, help="Gold items to draw, each with a known defect.")
    ] = 0,
    sound: Annotated[
        int, typer.Option(min=0, help="Copies of accepted items without a defect.")
    ] = 0,
    seed: Annotated[int | None, typer.Option(help="Of the draw; by default the project's.")] = None,
    json_output: Json = False,
) -> None:
    """Draw gold items: copies with a wrong key, a second right option or a wrong box."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.quality.gold_draw import draw
    from medrcube.review.server.serve import console

    reporter = Reporter(json_output=json_output)
    drawn = draw(from_defects, console().pseudonym, seed=seed, clean=sound)
    reporter.table(("kind", "gold items"), list(drawn.made.items()))
    reporter.result(f"{counted(drawn.defective, 'gold item')} with a defect")
    for wanted, made, words in (
        (drawn.wanted, drawn.defective, "fit items: one of each case, not copied yet"),
        (sound, drawn.made.get("sound", 0), "accepted items that were not copied yet"),
    ):
        if made < wanted:
            reporter.note(f"{made} of {wanted}: there are no more {words}")
    reporter.data({"made": dict(drawn.made), "wanted": drawn.wanted})


def reviewers(directory: Directory = Path(), json_output: Json = False) -> None:
    """Time, known defects caught, agreement and blind answers of each reviewer side by side."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from django.utils import timezone

    from medrcube.review.quality.reviewer_figures import FEW, figures

    reporter = Reporter(json_output=json_output)
    at, told = timezone.now(), figures()
    reporter.table(
        ("reviewer", "reviews", "median s", "fast", "defects caught", "agreement", "AC1", "blind"),
        [
            (
                row.pseudonym,
                row.reviews,
                "" if row.seconds is None else row.seconds,
                row.fast,
                *(
                    ""
                    if estimate.value is None
                    else f"{estimate.value:.2f} of {estimate.items}"
                    + (" (few)" if estimate.items < FEW else "")
                    for estimate in (row.all_caught, row.agreement, row.ac1, row.blind)
                ),
            )
            for row in told.readers
        ],
    )
    reporter.result(f"fast: reviews under {told.fast_seconds} s; few: fewer than {FEW}")
    reporter.data({**asdict(told), "at": at.isoformat(), "few": FEW})
