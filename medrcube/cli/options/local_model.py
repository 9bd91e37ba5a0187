"""Options of ``medrcube evaluate`` for models that run on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
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

_option = partial(typer.Option, rich_help_panel="Local models (hf/...)")

BatchSize = Annotated[
    int,
    _option(metavar="N", min=1, max=1024, help="Maximum questions per batch."),
]
Dtype = Annotated[
    str,
    _option(metavar="TYPE", help="auto, bfloat16, float16 or float32."),
]
Device = Annotated[
    str,
    _option(metavar="NAME", help="Torch device, such as cuda:1, or auto."),
]
Attention = Annotated[
    str | None,
    _option(metavar="NAME", help="Attention kernel, such as sdpa or flash_attention_2."),
]
ScoringName = Annotated[
    str,
    _option(
        "--scoring",
        help="Generate a reply, or score the options by the likelihood of their letter or text.",
        metavar="generate|likelihood|text",
    ),
]
Revision = Annotated[
    str | None,
    _option(metavar="NAME", help="Branch, tag or commit on the hub."),
]
TrustRemoteCode = Annotated[
    bool,
    _option("--trust-remote-code", help="Execute Python code shipped with the model repository."),
]
SelfCheck = Annotated[
    bool,
    _option(
        "--selfcheck",
        help="First verify on a few questions that batching changes no answer; stop if it does.",
    ),
]
MinPixels = Annotated[
    int | None,
    _option(
        metavar="N", help="Minimum pixels per image; the model's processor enlarges smaller images."
    ),
]
MaxPixels = Annotated[
    int | None,
    _option(
        metavar="N",
        help="Maximum pixels per image, for processors with such a limit, such as Qwen-VL's.",
    ),
]


def local_of(models: Iterable[str], **settings: Any) -> LocalSettings:
    """How the options run local models.

    Raises:
        ModelError: a value is unknown, or pixel limits are given for a model that does not run
            here.
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
