"""``medrcube sources count``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import SourceId, SourcePath

__all__ = ["count"]


def count(
    name: SourceId,
    root: Annotated[
        Path, typer.Argument(metavar="ROOT", help="Root of the raw data; image files may be empty.")
    ],
    evidence: Annotated[
        str, typer.Option(metavar="TEXT", help="Where the counts come from, for the card.")
    ] = "TODO: what was counted",
    source_path: SourcePath = None,
) -> None:
    """Count images by answer, for the card.

    Prints [[count]] tables, used to estimate the items of the full dataset.
    """
    from medrcube.build.profile.raw_counts import as_counts, as_toml, count_answers
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources, get_source

    source = get_source(find_sources(source_path or ()), name)
    Reporter().result(as_toml(as_counts(count_answers(source, root), evidence)))
