"""Claude models through Anthropic's Messages API.

Anthropic also has an OpenAI-compatible endpoint, described as a way to compare models and not
production-ready: it silently drops unknown fields, counts no cached tokens, reports no refusals and
has no batches. So the native API is used.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from medrcube.errors import ModelError
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.anthropic_api.wire import MessageTurn, messages_body, read_message
from medrcube.evaluate.models.endpoint_errors import Sender
from medrcube.evaluate.models.image_payload import POLICY, sendable_bytes
from medrcube.evaluate.models.openai_api.model import missing_key_error, sender_to
from medrcube.evaluate.models.openai_api.providers import temperature_of
from medrcube.evaluate.models.openai_api.reply import filtered_reply
from medrcube.evaluate.models.openai_api.request_body import Body, base64_of
from medrcube.evaluate.models.protocol import Json, ModelRequest, Reply
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.runner.scheduling.shared_loads import SingleFlightCache

if TYPE_CHECKING:
    from medrcube.evaluate.models.openai_api.client import ChatClient

__all__ = ["API_VERSION", "URL", "AnthropicModel", "open_anthropic"]

ADAPTER = "anthropic/1"
"""Changed whenever the same question would be sent in a different form."""

URL = "https://api.anthropic.com/v1"
KEY_ENV = "ANTHROPIC_API_KEY"
API_VERSION = "2023-06-01"
"""API version; newer versions accept no temperature for any model."""

_OWN = ("model", "messages", "stream", "system", "max_tokens")
_CACHE_BYTES = 16 * 2**20


def open_anthropic(name: str, settings: ModelSettings) -> AnthropicModel:
    """Open a Claude model.

    Raises:
        ModelError: there is no key, or a setting is given that the API does not have.
        MissingExtraError: the SDK is not installed.
    """
    for option, is_set in (
        ("--seed", settings.seed is not None),
        ("--logprobs", settings.logprobs),
    ):
        if is_set:
            raise ModelError(f"{option}: Anthropic's API does not support it; leave it out")
    if settings.max_tokens is None:
        raise ModelError("--max-tokens none: Anthropic's API requires a number")
    address = settings.base_url or _of_environment() or URL
    sender = sender_to(address, name, settings, KEY_ENV, _OWN)
    if not sender.key and settings.needs_key and sender.url == URL:
        raise missing_key_error(sender)
    return AnthropicModel(sender, settings)


class AnthropicModel:
    """One Claude model; see ``Model`` for the contract."""

    def __init__(self, sender: Sender, settings: ModelSettings) -> None:
        """Connect to nothing yet."""
        self.sender = sender
        self._settings = settings
        self._parameters = _parameters(settings, sender.model)
        self._pictures: SingleFlightCache[tuple[str, bytes]] = SingleFlightCache(
            most=_CACHE_BYTES, weigh=lambda p: len(p[1])
        )
        self._client: ChatClient | None = None
        self._connecting = asyncio.Lock()

    @property
    def name(self) -> str:
        """``anthropic/`` and the name of the model."""
        return f"anthropic/{self.sender.model}"

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
        system = self._settings.system
        return {
            **({} if system is None else {"system": system}),
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
        return self.read(data.decode("utf-8-sig", "replace"), (), latency)

    async def body(self, request: ModelRequest) -> Body:
        """Return the request body of a question."""
        turns = [
            MessageTurn(
                prompt=shot.prompt, picture=await self._base64(shot.picture), reply=shot.reply
            )
            for shot in request.earlier_turns
        ]
        turns.append(
            MessageTurn(prompt=request.prompt, picture=await self._base64(request.picture))
        )
        return messages_body(self.sender.model, turns, self._parameters, self._settings.system)

    async def _base64(self, picture: ImageFile | None) -> tuple[str, bytes] | None:
        if picture is None:
            return None
        return await self._pictures.get(picture.sha256, lambda: base64_of(*sendable_bytes(picture)))

    def read(self, data: str, letters: Sequence[str], latency: float) -> Reply:
        """Parse the body of a successful response; there are no letter scores.

        Raises:
            TransientError: it is not a valid message.
        """
        del letters
        scrub = self.sender.scrub
        reply = read_message(scrub(data), model=self.sender.model, latency=latency)
        return replace(reply, text=scrub(reply.text), model=scrub(reply.model))

    @property
    def headers(self) -> Mapping[str, str | None]:
        """Headers with key and API version."""
        return {
            "x-api-key": self.sender.key or None,
            "anthropic-version": API_VERSION,
            "Authorization": None,
        }

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

        return ChatClient(
            self.sender, timeout=self._settings.timeout, path="/messages", headers=self.headers
        )


def _of_environment() -> str | None:
    """Return the URL set for Anthropic's own SDK, with ``/v1``, which the SDK's variable omits."""
    address = os.environ.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/")
    return f"{address.removesuffix('/v1')}/v1" if address else None


def _parameters(settings: ModelSettings, model: str) -> dict[str, Json]:
    thinking = settings.extra_body.get("thinking")
    # With thinking enabled, Claude accepts only its default temperature.
    thinks = isinstance(thinking, Mapping) and thinking.get("type") != "disabled"
    plain = temperature_of(settings, model)
    temperature = None if thinks and not settings.temperature else plain
    options: dict[str, Json] = {"temperature": temperature, "max_tokens": settings.max_tokens}
    parameters = {name: value for name, value in options.items() if value is not None}
    return {**parameters, **settings.extra_body}
