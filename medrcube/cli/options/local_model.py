"""Options of the command line for models that run on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medrcube.errors import ModelError

if TYPE_CHECKING:
    from medrcube.evaluate.models.hf.settings import LocalSettings

_PANEL = "Local models (hf/...)"

BatchSize = Annotated[
    int,
    typer.Option(min=1, max=1024, help="Most questions computed together.", rich_help_panel=_PANEL),
]
Dtype = Annotated[
    str,
    typer.Option(help="auto, bfloat16, float16 or float32.", rich_help_panel=_PANEL),
]
Device = Annotated[
    str,
    typer.Option(help="As torch names it, such as cuda:1, or auto.", rich_help_panel=_PANEL),
]
Attention = Annotated[
    str | None,
    typer.Option(help="Such as sdpa or flash_attention_2.", rich_help_panel=_PANEL),
]
ScoringName = Annotated[
    str,
    typer.Option(
        "--scoring",
        help="generate a reply, or take the likelihood of the option's letter, or of its text.",
        metavar="generate|likelihood|text",
        rich_help_panel=_PANEL,
    ),
]
Revision = Annotated[
    str | None,
    typer.Option(help="Branch, tag or commit on the hub.", rich_help_panel=_PANEL),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code", help="Run the code that comes with it.", rich_help_panel=_PANEL
    ),
]
SelfCheck = Annotated[
    bool,
    typer.Option(
        "--selfcheck",
        help="First prove on some questions that a batch changes no answer; refuse otherwise.",
        rich_help_panel=_PANEL,
    ),
]
MinPixels = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Pixels to which the model's processor enlarges smaller pictures.",
        rich_help_panel=_PANEL,
    ),
]
MaxPixels = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Pixels to which it makes larger pictures smaller; Qwen-VL and others have this.",
        rich_help_panel=_PANEL,
    ),
]


def local_of(models: Iterable[str], **settings: Any) -> LocalSettings:
    """How the options run local models.

    Raises:
        ModelError: a value is none of those that are known, or pixels are bounded for a model
            that does not run here.
    """
    from medrcube.evaluate.models.hf.settings import LocalSettings

    made = LocalSettings(**settings)
    others = [name for name in models if not name.startswith("hf/")]
    if others and (made.min_pixels or made.max_pixels):
        raise ModelError(
            f"--min-pixels and --max-pixels are for hf/...; {others[0]} runs elsewhere: bound "
            "pixels where its server is started, or give --image-size"
        )
    return made
