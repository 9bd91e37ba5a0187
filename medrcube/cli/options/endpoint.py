"""Options of ``medrcube evaluate`` for requests to an endpoint."""

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

_NONE = "none: server default."

Temperature = Annotated[
    str, typer.Option(metavar="NUMBER|none", help=f"Sampling temperature; {_NONE}")
]
MaxTokens = Annotated[
    str,
    typer.Option(metavar="NUMBER|none", help=f"Maximum tokens per reply; {_NONE}"),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Sampling seed, if the provider supports one.")
]
BaseUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Base URL of the endpoint, such as http://host:8000/v1."),
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Environment variable with the API key; default: the provider's.",
    ),
]
Logprobs = Annotated[
    bool,
    typer.Option("--logprobs", help="Store the log-probability of each letter."),
]
ExtraBody = Annotated[
    str | None,
    typer.Option(metavar="JSON", help="Additional request fields, as a JSON object."),
]
System = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="System prompt; endpoints only."),
]
