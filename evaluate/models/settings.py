"""Settings of a model: endpoint, generation, and those of a local model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from medrcube.evaluate.models.hf.settings import LocalSettings
from medrcube.evaluate.models.protocol import Json

__all__ = ["DEFAULT_TIMEOUT", "ModelSettings"]

DEFAULT_TIMEOUT = 120.0
"""Timeout in seconds for one whole request to a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Endpoint and generation settings of a model.

    Attributes:
        base_url: endpoint; ``None`` uses the provider's own.
        api_key_env: name of the environment variable that holds the key; ``None`` takes the
            provider's own.
        temperature: sampling temperature; ``None`` leaves it to the server.
        max_tokens: maximum reply length in tokens; ``None`` leaves it to the server.
        seed: sampling seed, if the server supports one, and seed of ``baseline/random``.
        timeout: timeout in seconds for one whole request.
        logprobs: request the log-probability of each option's letter.
        system: system prompt, for a model behind an endpoint.
        image_detail: detail level of images at an endpoint: ``low``, ``high``, ``auto``.
        needs_key: refuse OpenAI's own endpoint without a key; false if nothing is sent.
        extra_body: additional fields of the request to a server.
        local: settings of a local model.
    """

    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = 4096
    seed: int | None = None
    timeout: float = DEFAULT_TIMEOUT
    logprobs: bool = False
    system: str | None = None
    image_detail: str | None = None
    needs_key: bool = True
    extra_body: Mapping[str, Json] = field(default_factory=dict)
    local: LocalSettings = field(default_factory=LocalSettings)
