"""Open a model by name: ``PROVIDER/NAME``, such as ``openai/NAME`` or ``hf/PATH``.

A package adds a provider with an entry point in the group ``medrcube.models``; its name is the
provider, its object a function ``(name, settings) -> Model``.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from medrcube.errors import ModelError
from medrcube.evaluate.models.baselines import open_baseline
from medrcube.evaluate.models.protocol import Model
from medrcube.evaluate.models.settings import ModelSettings

__all__ = ["DETAILS", "ENTRY_POINTS", "open_model"]

ENTRY_POINTS = "medrcube.models"
"""Entry-point group of additional providers."""

_ENDPOINTS = ("anthropic", "litellm", "openai")

DETAILS = ("low", "high", "auto")
"""Detail levels of images, as OpenAI names them."""


def open_model(spec: str, settings: ModelSettings | None = None) -> Model:
    """Open the model ``PROVIDER/NAME``.

    Raises:
        ModelError: the name has no provider, or the provider or the model is unknown.
        MissingExtraError: the provider needs a package that is not installed.
    """
    provider, slash, name = spec.partition("/")
    settings = settings or ModelSettings()
    if not slash or not name:
        raise ModelError(
            f"model {spec!r} has no provider; expected PROVIDER/NAME, such as "
            "openai/my-model or baseline/random"
        )
    _check_settings(spec, provider, settings)
    if provider == "baseline":
        return open_baseline(name, seed=settings.seed or 0)
    if provider in {"openai", "litellm"}:
        from medrcube.evaluate.models.openai_api.model import (  # noqa: PLC0415 - needs an extra
            open_litellm,
            open_openai,
        )

        return (open_openai if provider == "openai" else open_litellm)(name, settings)
    if provider == "anthropic":
        from medrcube.evaluate.models.anthropic_api.model import open_anthropic  # noqa: PLC0415 - an extra

        return open_anthropic(name, settings)
    if provider == "hf":
        from medrcube.evaluate.models.hf.model import open_hf  # noqa: PLC0415 - needs an extra

        return open_hf(name, settings)
    points = entry_points(group=ENTRY_POINTS, name=provider)
    if not points:
        others = sorted({point.name for point in entry_points(group=ENTRY_POINTS)})
        providers = ", ".join([*_ENDPOINTS, "baseline", "hf", *others])
        raise ModelError(f"no provider {provider!r}; expected one of: {providers}")
    model: Model = next(iter(points)).load()(name, settings)
    return model


def _check_settings(spec: str, provider: str, settings: ModelSettings) -> None:
    if settings.system is not None and provider not in _ENDPOINTS:
        raise ModelError(
            f"{spec} does not take a system prompt; expected a model behind an endpoint, such as "
            "openai/NAME"
        )
    if settings.image_detail is not None and provider not in {"openai", "litellm"}:
        raise ModelError(
            f"{spec} does not take --image-detail, a field of requests to openai/NAME and "
            "litellm/NAME; --image-size works with every model"
        )
    if settings.image_detail not in {None, *DETAILS}:
        raise ModelError(
            f"--image-detail {settings.image_detail}: expected one of {', '.join(DETAILS)}"
        )
    if "\0" in (settings.system or ""):
        raise ModelError("the system prompt contains the character NUL; leave it out")
