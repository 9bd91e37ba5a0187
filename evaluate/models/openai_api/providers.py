"""Differences between providers in a chat-completions request.

Only defaults are adapted: the reply limit and the temperature of 0. Explicit settings (a seed,
log-probabilities, another temperature) are always sent, and a provider that refuses one ends the
run at its first question with advice. The source of each rule is in
``docs/how-to/ask-a-model-at-a-provider.md``.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from medrcube.evaluate.models.protocol import Json
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.model_endpoint import is_official

__all__ = ["forwards", "is_azure", "limit_field", "temperature_of"]

_DEFAULT = ModelSettings().temperature
_REASONING = re.compile(r"(o\d|gpt-([5-9]|\d\d))(?!.*chat)", re.IGNORECASE)
_SAMPLED_CLAUDE = re.compile(
    r"claude-(instant|[123]\b|(opus|sonnet|haiku)-4(-[0-6])?(-\d{8})?(-latest)?$)", re.IGNORECASE
)
_CLOUD = re.compile(r"[:-]cloud$", re.IGNORECASE)


def is_azure(url: str) -> bool:
    """Whether the URL is Azure's, which uses a different key header."""
    return (urlsplit(url).hostname or "").endswith(".azure.com")


def limit_field(url: str) -> str:
    """Return the name of the reply limit field.

    OpenAI renamed it, and its reasoning models refuse the old name; most others know only the old
    one.
    """
    azure = is_azure(url) and "/openai" in urlsplit(url).path
    return "max_completion_tokens" if is_official(url) or azure else "max_tokens"


def temperature_of(settings: ModelSettings, model: str, url: str = "") -> Json:
    """Return the temperature to send; ``None`` for a model without one, unless the user set it.

    OpenAI's reasoning models and Claude from 4.7 on refuse any temperature other than their
    default.
    """
    refused = (
        _REASONING.match(model) is not None
        if is_official(url) or is_azure(url)
        else model.startswith("claude-") and _SAMPLED_CLAUDE.match(model) is None
    )
    return None if refused and settings.temperature == _DEFAULT else settings.temperature


def forwards(model: str) -> bool:
    """Whether a local server forwards the question, as Ollama does for its cloud models."""
    return _CLOUD.search(model) is not None
