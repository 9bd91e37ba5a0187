"""The option ``--origin``: the address of a review server behind a proxy."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Origin"]


Origin = Annotated[
    str,
    typer.Option(
        envvar="MEDRCUBE_REVIEW_ORIGIN",
        metavar="https://NAME",
        help="Public https address, if served behind a proxy.",
    ),
]
