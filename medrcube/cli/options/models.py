"""Options of ``medrcube evaluate`` for models, conditions and the run directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Again", "Conditions", "Edition", "Epochs", "Limit", "Models", "Out", "RereadImages"]

Models = Annotated[
    list[str],
    typer.Option(
        metavar="PROVIDER/NAME",
        help="openai/NAME, anthropic/NAME, hf/PATH (on this machine) or baseline/RULE; repeatable, "
        "each a run of its own.",
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="DIR",
        help="Run directory; an existing run is resumed. Of several models: their parent.",
    ),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="full, blind, circular, image-swap, reworded, chain or degraded:OPERATION=SIZE "
        "(noise, jpeg, blur or downscale); repeatable; default: full.",
    ),
]
Edition = Annotated[
    Path | None,
    typer.Option(
        metavar="RELEASE",
        help="Edition of the release with other wording (build --seed), for reworded.",
    ),
]
Epochs = Annotated[int, typer.Option(metavar="N", min=1, help="Times that each question is asked.")]
Limit = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Evaluate a stratified random sample of N items."),
]
RereadImages = Annotated[
    bool,
    typer.Option("--reread-images", help="On resuming, read every image file again."),
]
Again = Annotated[
    str | None,
    typer.Option(
        metavar="cut,failed",
        help="Ask again only questions that ended so; --max-tokens may be larger.",
    ),
]
