"""The option of the command line for the batch interfaces of providers."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Batch"]

Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Ask openai/... and anthropic/... in batches, at half the price and within a day; run "
        "again to fetch replies.",
    ),
]
