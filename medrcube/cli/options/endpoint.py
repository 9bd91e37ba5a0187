"""Options of the command line for what a model is asked with."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "ApiKeyEnv",
    "BaseUrl",
    "ExtraBody",
    "Logprobs",
    "MaxTokens",
    "Seed",
    "System",
    "Temperature",
]

_NONE = "none leaves it to the server."

Temperature = Annotated[str, typer.Option(metavar="NUMBER|none", help=_NONE)]
MaxTokens = Annotated[
    str,
    typer.Option(metavar="NUMBER|none", help=f"Longest reply; {_NONE}"),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Of the sampling, where it has one.")]
BaseUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Endpoint of the model, such as http://host:8000/v1."),
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Environment variable that holds the key. Default: that of the provider.",
    ),
]
Logprobs = Annotated[
    bool,
    typer.Option("--logprobs", help="Keep the log-probability of each letter."),
]
ExtraBody = Annotated[
    str | None,
    typer.Option(metavar="JSON", help="Further fields of the request, an object."),
]
System = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="System prompt, for a model behind an endpoint."),
]
