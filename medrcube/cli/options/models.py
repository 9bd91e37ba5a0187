"""Options of the command line for which models are asked, about what, and into which folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Again", "Conditions", "Edition", "Epochs", "Limit", "Models", "Out", "RereadImages"]

Models = Annotated[
    list[str],
    typer.Option(
        metavar="PROVIDER/NAME",
        help="openai/NAME or anthropic/NAME behind an endpoint, hf/PATH on this machine, "
        "baseline/RULE; each one more is a run of its own.",
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="DIR",
        help="Folder of the run; one that is there goes on. Of several models: of the folders.",
    ),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="full, blind, circular, image-swap or reworded; may be repeated. Default: full.",
    ),
]
Edition = Annotated[
    Path | None,
    typer.Option(
        metavar="RELEASE",
        help="Another edition of the release (build --seed), for the condition reworded.",
    ),
]
Epochs = Annotated[int, typer.Option(metavar="N", min=1, help="How often each question is asked.")]
Limit = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Only so many items, a fair draw.")
]
RereadImages = Annotated[
    bool,
    typer.Option("--reread-images", help="On resuming, read every image file again."),
]
Again = Annotated[
    str | None,
    typer.Option(
        metavar="cut,failed",
        help="Ask only questions that ended so; --max-tokens may then be larger.",
    ),
]
