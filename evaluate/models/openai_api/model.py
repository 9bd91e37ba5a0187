"""Any endpoint that implements the OpenAI chat-completions protocol.

``litellm/NAME`` is the same through LiteLLM's proxy, which forwards every question to a provider:
images leave this machine even if the proxy runs on it.

The key comes from an environment variable. It never appears in ``identity``, ``repr`` or a message;
servers tend to repeat it in error responses.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from medrcube.errors import MissingExtraError, ModelError
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.endpoint_errors import Sender
from medrcube.evaluate.models.image_payload import POLICY
from medrcube.evaluate.models.openai_api.providers import (
    forwards,
    is_azure,
    limit_field,
    temperature_of,
)
from medrcube.evaluate.models.openai_api.reply import filtered_reply, read_reply
from medrcube.evaluate.models.openai_api.request_body import Body, ChatTurn, chat_body, data_url
from medrcube.evaluate.models.protocol import Json, ModelRequest, Reply
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.runner.scheduling.shared_loads import SingleFlightCache
from medrcube.model_endpoint import OFFICIAL_URL, checked_url, is_official

if TYPE_CHECKING:
    from medrcube.evaluate.models.openai_api.client import ChatClient

__all__ = [
    "ADAPTER",
    "KEY_ENV",
    "LITELLM_KEY_ENV",
    "LITELLM_URL",
    "TOP_LOGPROBS",
    "OpenAIModel",
    "missing_key_error",
    "open_litellm",
    "open_openai",
    "sender_to",
]

ADAPTER = "openai/2"
"""Changed whenever the same question would be sent in a different form."""

TOP_LOGPROBS = 20
"""Maximum number of alternatives per token that OpenAI and, by default, vLLM return."""

_OWN = ("model", "messages", "stream", "n")
_CACHE_BYTES = 16 * 2**20


KEY_ENV = "OPENAI_API_KEY"
LITELLM_URL, LITELLM_KEY_ENV = "http://localhost:4000/v1", "LITELLM_API_KEY"
"""Default address and key variable of LiteLLM's proxy."""


def open_openai(name: str, settings: ModelSettings) -> OpenAIModel:
    """Open a model behind an OpenAI-compatible endpoint.

    Raises:
        ModelError: the official endpoint is used without a key, the address is invalid, or the
            additional parameters contain a field that the adapter sets itself.
        MissingExtraError: the SDK is not installed.
    """
    address = settings.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL_URL
    sender = sender_to(address, name, settings, KEY_ENV)
    if not sender.key and settings.needs_key and is_official(sender.url):
        raise missing_key_error(sender)
    return OpenAIModel(sender, settings, provider="openai", forwards=forwards(name))


def open_litellm(name: str, settings: ModelSettings) -> OpenAIModel:
    """Open a model behind LiteLLM's proxy.

    Raises:
        ModelError: the address is invalid, or the additional parameters contain a field that the
            adapter sets itself.
        MissingExtraError: the SDK is not installed.
    """
    sender = sender_to(settings.base_url or LITELLM_URL, name, settings, LITELLM_KEY_ENV)
    return OpenAIModel(sender, settings, provider="litellm", forwards=True)


def sender_to(
    address: str,
    name: str,
    settings: ModelSettings,
    key_env: str,
    own: Collection[str] = _OWN,
) -> Sender:
    """Return endpoint, model and key, with the key from the environment.

    Args:
        address: URL of the endpoint.
        name: model name at the endpoint.
        settings: model settings.
        key_env: environment variable of the key, unless the settings name one.
        own: fields of the body that the adapter sets itself.

    Raises:
        ModelError: the address is invalid, or the additional parameters contain a field of ``own``.
        MissingExtraError: the SDK is not installed.
    """
    for module in ("openai", "aiohttp"):
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(module, "evaluate")
    url = checked_url(address, query=("api-version",))
    variable = settings.api_key_env or key_env
    if conflicts := sorted(set(own) & set(settings.extra_body)):
        raise ModelError(f"--extra-body sets {', '.join(conflicts)}, which the run sets itself")
    key = os.environ.get(variable, "").strip()
    return Sender(url=url, model=name, key=key, key_env=variable)


def missing_key_error(sender: Sender) -> ModelError:
    """Return the error for a missing API key."""
    return ModelError(
        f"no API key: set the environment variable {sender.key_env}, name another one "
        "(--api-key-env, in Python api_key_env), or give the address of a server that needs none "
        "(--base-url, base_url)"
    )


class OpenAIModel:
    """One model behind one endpoint; see ``Model`` for the contract."""

    def __init__(
        self, sender: Sender, settings: ModelSettings, *, provider: str, forwards: bool
    ) -> None:
        """Connect to nothing yet.

        Args:
            sender: endpoint, model and key.
            settings: model settings.
            provider: provider in the model name.
            forwards: whether the endpoint forwards questions to another machine.
        """
        self.sender = sender
        self._settings = settings
        self._provider = provider
        self._forwards = forwards
        self._parameters = _parameters(settings, sender)
        self._pictures: SingleFlightCache[bytes] = SingleFlightCache(most=_CACHE_BYTES, weigh=len)
        self._client: ChatClient | None = None
        self._connecting = asyncio.Lock()

    @property
    def name(self) -> str:
        """Provider and model name."""
        return f"{self._provider}/{self.sender.model}"

    @property
    def takes_shots(self) -> bool:
        """Examples become turns of the conversation before the question."""
        return True

    @property
    def takes_history(self) -> bool:
        """Earlier questions and replies become turns of the conversation too."""
        return True

    @property
    def identity(self) -> Mapping[str, Json]:
        """Adapter, endpoint, model, parameters, and image conversion."""
        optional = {"system": self._settings.system, "image_detail": self._settings.image_detail}
        return {
            **{name: value for name, value in optional.items() if value is not None},
            **({"forwards": True} if self._forwards else {}),
            "adapter": ADAPTER,
            "name": self.name,
            "endpoint": self.sender.url,
            "parameters": dict(self._parameters),
            "pictures": POLICY,
        }

    async def answer(self, request: ModelRequest) -> Reply:
        """Send one question."""
        body = await self.body(request)
        client = await self._connection()
        started = time.monotonic()
        data = await client.post(body)
        latency = time.monotonic() - started
        if data is None:
            return filtered_reply(self.sender.model, latency)
        letters = [letter for letter, _ in request.options]
        return self.read(data.decode("utf-8-sig", "replace"), letters, latency)

    async def body(self, request: ModelRequest) -> Body:
        """Return the request body of a question."""
        turns = [
            ChatTurn(
                prompt=shot.prompt, picture=await self._data_url(shot.picture), reply=shot.reply
            )
            for shot in request.earlier_turns
        ]
        turns.append(ChatTurn(prompt=request.prompt, picture=await self._data_url(request.picture)))
        return chat_body(
            self.sender.model,
            turns,
            self._parameters,
            system=self._settings.system,
            detail=self._settings.image_detail,
        )

    def read(self, data: str, letters: Sequence[str], latency: float) -> Reply:
        """Parse the body of a successful response.

        Raises:
            TransientError: it is not a valid chat completion.
        """
        scrub = self.sender.scrub
        model = self.sender.model
        reply = read_reply(scrub(data), model=model, letters=letters, latency=latency)
        # Again after parsing: JSON can encode a character in several ways.
        return replace(reply, text=scrub(reply.text), model=scrub(reply.model))

    async def _data_url(self, picture: ImageFile | None) -> bytes | None:
        if picture is None:
            return None
        return await self._pictures.get(picture.sha256, lambda: data_url(picture))

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        self._connecting = asyncio.Lock()  # it is bound to the event loop that is ending
        if client is not None:
            await client.close()

    async def _connection(self) -> ChatClient:
        # The SDK takes half a second to load, which must not block the event loop.
        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(self._connect)
            return self._client

    def _connect(self) -> ChatClient:
        from medrcube.evaluate.models.openai_api.client import ChatClient  # noqa: PLC0415 - slow

        azure = is_azure(self.sender.url)
        return ChatClient(
            self.sender,
            timeout=self._settings.timeout,
            headers={"api-key": self.sender.key} if azure else None,
        )


def _parameters(settings: ModelSettings, sender: Sender) -> dict[str, Json]:
    options: dict[str, Json] = {
        "temperature": temperature_of(settings, sender.model, sender.url),
        limit_field(sender.url): settings.max_tokens,
        "seed": settings.seed,
    }
    if settings.logprobs:
        options |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    parameters = {name: value for name, value in options.items() if value is not None}
    return {**parameters, **settings.extra_body}
