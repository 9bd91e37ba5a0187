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
        help="openai/NAME, anthropic/NAME, hf/PATH (on this machine) or baseline/RULE; "
        "repeatable, one run each.",
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="DIR",
        help="Run directory; an existing run is resumed. With several models: the parent "
        "directory.",
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
        help="Edition of the release with other wordings (build --seed), for the condition "
        "reworded.",
    ),
]
Epochs = Annotated[
    int, typer.Option(metavar="N", min=1, help="Number of times each question is asked.")
]
Limit = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Evaluate a stratified random sample of N items."),
]
RereadImages = Annotated[
    bool,
    typer.Option("--reread-images", help="Read every image file again when resuming."),
]
Again = Annotated[
    str | None,
    typer.Option(
        metavar="cut,failed",
        help="Ask again only the questions with this outcome; --max-tokens may be raised.",
    ),
]
