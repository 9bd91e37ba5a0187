"""Options of the command line for how fast, how patiently and for how much a model is asked."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "MaxConnections",
    "MaxCost",
    "MaxRetries",
    "NoAdaptiveConcurrency",
    "PriceBatch",
    "PriceIn",
    "PriceOut",
    "Timeout",
]

MaxConnections = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=1000,
        help="Most questions under way at a time. Default: 32, or as a local model suggests.",
    ),
]
NoAdaptiveConcurrency = Annotated[
    bool,
    typer.Option(
        "--no-adaptive-concurrency",
        help="Use exactly --max-connections; do not adapt to the server.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=0.1,
        help="Seconds for one whole request; an endpoint has 120 by default.",
    ),
]
MaxRetries = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Of one question, rate limits apart."),
]
MaxCost = Annotated[
    float | None,
    typer.Option(min=0.0, metavar="USD", help="Stop before the run costs more."),
]
PriceIn = Annotated[
    float | None,
    typer.Option(min=0.0, metavar="USD", help="Of a million tokens sent."),
]
PriceOut = Annotated[
    float | None,
    typer.Option(min=0.0, metavar="USD", help="Of a million tokens written."),
]
PriceBatch = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=1.0,
        metavar="PART",
        help="Part of both prices that a reply in a batch costs: half, as OpenAI and Anthropic "
        "document.",
    ),
]
