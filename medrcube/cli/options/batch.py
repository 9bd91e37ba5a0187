"""The option of the command line for the batch interfaces of providers."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Batch"]

Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Ask in batches, at half the price and within a day: openai/... and anthropic/... "
        "Stop it at will; the same command fetches what has come.",
    ),
]
