"""Options of ``medrcube evaluate`` for models that run on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medrcube.errors import ModelError

if TYPE_CHECKING:
    from medrcube.evaluate.models.hf.settings import LocalSettings

__all__ = [
    "Attention",
    "BatchSize",
    "Device",
    "Dtype",
    "MaxPixels",
    "MinPixels",
    "Revision",
    "ScoringName",
    "SelfCheck",
    "TrustRemoteCode",
    "local_of",
]

_PANEL = "Local models (hf/...)"

BatchSize = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, max=1024, help="Maximum questions per batch.", rich_help_panel=_PANEL
    ),
]
Dtype = Annotated[
    str,
    typer.Option(
        metavar="TYPE", help="auto, bfloat16, float16 or float32.", rich_help_panel=_PANEL
    ),
]
Device = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Torch device, such as cuda:1, or auto.", rich_help_panel=_PANEL
    ),
]
Attention = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Attention kernel, such as sdpa or flash_attention_2.",
        rich_help_panel=_PANEL,
    ),
]
ScoringName = Annotated[
    str,
    typer.Option(
        "--scoring",
        help="Generate a reply, or score the options by the likelihood of their letter or text.",
        metavar="generate|likelihood|text",
        rich_help_panel=_PANEL,
    ),
]
Revision = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Branch, tag or commit on the hub.", rich_help_panel=_PANEL),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Execute Python code shipped with the model repository.",
        rich_help_panel=_PANEL,
    ),
]
SelfCheck = Annotated[
    bool,
    typer.Option(
        "--selfcheck",
        help="First verify on a few questions that batching changes no answer; stop if it does.",
        rich_help_panel=_PANEL,
    ),
]
MinPixels = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Minimum pixels per image; the model's processor enlarges smaller images.",
        rich_help_panel=_PANEL,
    ),
]
MaxPixels = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Maximum pixels per image, for processors with such a limit, such as Qwen-VL's.",
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

    local_settings = LocalSettings(**settings)
    others = [name for name in models if not name.startswith("hf/")]
    if others and (local_settings.min_pixels or local_settings.max_pixels):
        raise ModelError(
            f"--min-pixels and --max-pixels apply to hf/... only; for {others[0]}, set the limits "
            f"on its server, or use --image-size"
        )
    return local_settings
