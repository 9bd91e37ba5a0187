"""The option of the command line for the batch interfaces of providers."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Batch"]

Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Use the batch API of openai/... and anthropic/...: half price, replies within a "
        "day; re-run to fetch them.",
    ),
]
