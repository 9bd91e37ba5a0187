"""Options of ``medrcube evaluate`` for concurrency, retries and cost."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "BATCH_PRICE",
    "MaxConnections",
    "MaxCost",
    "MaxRetries",
    "NoAdaptiveConcurrency",
    "PriceBatch",
    "PriceIn",
    "PriceOut",
    "Timeout",
]

BATCH_PRICE = 0.5
"""Fraction of the price that OpenAI and Anthropic charge for a reply in a batch:
https://platform.openai.com/docs/guides/batch and
https://platform.claude.com/docs/en/build-with-claude/batch-processing."""

MaxConnections = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=1000,
        help="Maximum concurrent requests; default: 32, or what a local model suggests.",
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
        help="Timeout of one request; default for endpoints: 120.",
    ),
]
MaxRetries = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, help="Retries per question, not counting rate-limit responses."
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(min=0.0, metavar="USD", help="Stop before the cost exceeds this amount."),
]
PriceIn = Annotated[
    float | None,
    typer.Option(min=0.0, metavar="USD", help="Price per million input tokens."),
]
PriceOut = Annotated[
    float | None,
    typer.Option(min=0.0, metavar="USD", help="Price per million output tokens."),
]
PriceBatch = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=1.0,
        metavar="SHARE",
        help="Price of a batch reply, as a fraction of both prices.",
    ),
]
