"""``medrcube review gold``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Here, Json, Wide
from medrcube.cli.review.queue import open_queue
from medrcube.console.counts import counted

__all__ = ["gold"]


def gold(
    directory: Here = Path(),
    from_defects: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of gold items with a known defect.")
    ] = 0,
    sound: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of gold items without a defect.")
    ] = 0,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Random seed; default: that of the project."),
    ] = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Draw gold items to test reviewers.

    Gold items are copies of sound items with a wrong key, a second right option or a wrong box.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.quality.gold_draw import draw_gold
    from medrcube.review.server.serve import console_user

    reporter = Reporter(json_output=json_output, wide=wide)
    gold_draw = draw_gold(from_defects, console_user().pseudonym, seed=seed, clean=sound)
    reporter.table(
        ("kind", "gold items"), list(gold_draw.counts.items()), empty="no gold items drawn"
    )
    reporter.result(f"{counted(gold_draw.defective, 'gold item')} with a defect")
    for target, drawn_items, words in (
        (gold_draw.target, gold_draw.defective, "suitable items: one per case, not copied yet"),
        (sound, gold_draw.counts.get("sound", 0), "accepted items not copied yet"),
    ):
        if drawn_items < target:
            reporter.note(f"{drawn_items} of {target}: there are no more {words}")
    reporter.data({"made": dict(gold_draw.counts), "wanted": gold_draw.target})
