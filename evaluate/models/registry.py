"""Open a model by its name: ``openai/NAME``, ``hf/PATH``, ``baseline/RULE``, or a package's own.

A package adds a provider with an entry point in the group ``medrcube.models``; its name is the
provider, its object a function ``(name, settings) -> Model``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points

from medrcube.errors import ModelError
from medrcube.evaluate.models.baseline import open_baseline
from medrcube.evaluate.models.contract import Json, Model
from medrcube.evaluate.models.hf_settings import LocalSettings

ENTRY_POINTS = "medrcube.models"
"""Entry-point group of further providers."""


DEFAULT_TIMEOUT = 120.0
"""Seconds for one whole request to a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How to reach a model and how it shall answer.

    Attributes:
        base_url: endpoint; ``None`` takes the provider's own.
        api_key_env: name of the environment variable that holds the key.
        temperature: sampling temperature; ``None`` leaves it to the server.
        max_tokens: longest reply in tokens; ``None`` leaves it to the server.
        seed: seed of the sampling, where the server takes one, and of ``baseline/random``.
        timeout: seconds for one whole request.
        logprobs: ask a server for the log-probability of each option's letter.
        system: system prompt, for a model behind an endpoint.
        extra_body: further fields of the request to a server.
        local: how to run a model on this machine.
    """

    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    max_tokens: int | None = 4096
    seed: int | None = None
    timeout: float = DEFAULT_TIMEOUT
    logprobs: bool = False
    system: str | None = None
    extra_body: Mapping[str, Json] = field(default_factory=dict)
    local: LocalSettings = field(default_factory=LocalSettings)


def open_model(spec: str, settings: ModelSettings | None = None) -> Model:
    """Open the model that ``PROVIDER/NAME`` names.

    Raises:
        ModelError: the name has no provider, or nobody knows the provider or the model.
        MissingExtraError: the provider needs a package that is not installed.
    """
    provider, slash, name = spec.partition("/")
    settings = settings or ModelSettings()
    if not slash or not name:
        raise ModelError(
            f"model {spec!r} does not say who provides it; expected PROVIDER/NAME, such as "
            "openai/my-model or baseline/random"
        )
    if settings.system is not None and provider != "openai":
        raise ModelError(
            f"a system prompt is for models behind an endpoint (openai/...), not {spec}"
        )
    if "\0" in (settings.system or ""):
        raise ModelError("the system prompt holds the character NUL; leave it out")
    if provider == "baseline":
        return open_baseline(name, seed=settings.seed or 0)
    if provider == "openai":
        from medrcube.evaluate.models.openai import open_openai  # noqa: PLC0415 - needs an extra

        return open_openai(name, settings)
    if provider == "hf":
        from medrcube.evaluate.models.hf import open_hf  # noqa: PLC0415 - needs an extra

        return open_hf(name, settings)
    found = entry_points(group=ENTRY_POINTS, name=provider)
    if not found:
        others = sorted({point.name for point in entry_points(group=ENTRY_POINTS)})
        known = ", ".join(["baseline", "hf", "openai", *others])
        raise ModelError(f"no provider {provider!r}; expected one of: {known}")
    model: Model = next(iter(found)).load()(name, settings)
    return model
