"""Any endpoint that speaks the OpenAI chat-completions protocol, with the picture as it lies.

The key comes from an environment variable. It is kept out of ``identity``, of ``repr`` and of
every message: servers like to repeat it in what they refuse.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from medrcube.endpoints import OFFICIAL_URL, checked_url, is_official, scrub
from medrcube.errors import MissingExtraError, ModelError
from medrcube.evaluate.models.contract import Json, Reply, Request
from medrcube.evaluate.models.media import POLICY
from medrcube.evaluate.models.openai_body import chat_body, data_url
from medrcube.evaluate.models.openai_reply import read_reply
from medrcube.evaluate.models.registry import ModelSettings
from medrcube.evaluate.running.recent import Recent

if TYPE_CHECKING:
    from medrcube.evaluate.models.openai_client import ChatClient

ADAPTER = "openai/2"
"""Changes whenever the same question would be sent in another form."""

TOP_LOGPROBS = 20
"""Most alternatives that OpenAI and, by default, vLLM tell for a token."""

_OWN = ("model", "messages", "stream", "n")
_KEPT = 16 * 2**20


def open_openai(name: str, settings: ModelSettings) -> OpenAIModel:
    """Open a model behind an OpenAI-compatible endpoint.

    Raises:
        ModelError: the official endpoint is asked without a key, the address is none, or the
            additional parameters hold what the adapter sets itself.
        MissingExtraError: the SDK is not installed.
    """
    for module in ("openai", "aiohttp"):
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(module, "evaluate")
    address = settings.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL_URL
    url = checked_url(address, query=("api-version",))
    key = os.environ.get(settings.api_key_env, "").strip()
    if not key and is_official(url):
        raise ModelError(
            f"no API key: set the environment variable {settings.api_key_env}, name another one "
            "with --api-key-env, or give the --base-url of a server that needs none"
        )
    if taken := sorted(set(_OWN) & set(settings.extra_body)):
        raise ModelError(f"--extra-body sets {', '.join(taken)}, which is set by the run itself")
    return OpenAIModel(name, url=url, key=key, settings=settings)


class OpenAIModel:
    """One model behind one endpoint; see ``Model`` for the contract."""

    def __init__(self, name: str, *, url: str, key: str, settings: ModelSettings) -> None:
        self._name = name
        self._url = url
        self._key = key
        self._settings = settings
        self._parameters = _parameters(settings, official=is_official(url))
        self._pictures: Recent[bytes] = Recent(most=_KEPT, weigh=len)
        self._client: ChatClient | None = None
        self._connecting = asyncio.Lock()

    @property
    def name(self) -> str:
        """``openai/`` and the name that the endpoint knows."""
        return f"openai/{self._name}"

    @property
    def identity(self) -> Mapping[str, Json]:
        """Adapter, endpoint, model, parameters, and what is done to pictures."""
        system = self._settings.system
        return {
            **({} if system is None else {"system": system}),
            "adapter": ADAPTER,
            "name": self.name,
            "endpoint": self._url,
            "parameters": dict(self._parameters),
            "pictures": POLICY,
        }

    async def answer(self, request: Request) -> Reply:
        """Send one question."""
        picture = None
        if (shown := request.picture) is not None:
            picture = await self._pictures.get(shown.sha256, lambda: data_url(shown))
        body = chat_body(
            self._name, request.prompt, picture, self._parameters, self._settings.system
        )
        client = await self._connection()
        started = time.monotonic()
        data = await client.post(body)
        if data is None:
            return Reply(
                text="",
                finish_reason="content_filter",
                usage={},
                model=self._name,
                latency=time.monotonic() - started,
            )
        reply = read_reply(
            scrub(data.decode("utf-8-sig", "replace"), self._key),
            model=self._name,
            letters=[letter for letter, _ in request.options],
            latency=time.monotonic() - started,
        )
        # Once more: JSON can write a character in several ways.
        return replace(
            reply,
            text=scrub(reply.text, self._key),
            model=scrub(reply.model, self._key),
            finish_reason=scrub(reply.finish_reason, self._key),
        )

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        self._connecting = asyncio.Lock()  # it belongs to the event loop that ends
        if client is not None:
            await client.close()

    async def _connection(self) -> ChatClient:
        # The SDK takes half a second to load, in which nothing else must wait.
        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(self._connect)
            return self._client

    def _connect(self) -> ChatClient:
        from medrcube.evaluate.models.openai_client import ChatClient  # noqa: PLC0415 - slow

        return ChatClient(
            url=self._url,
            key=self._key,
            key_env=self._settings.api_key_env,
            model=self._name,
            timeout=self._settings.timeout,
        )


def _parameters(settings: ModelSettings, *, official: bool) -> dict[str, Json]:
    # The official endpoint renamed the limit; most other servers know the old name only.
    limit = "max_completion_tokens" if official else "max_tokens"
    chosen: dict[str, Json] = {
        "temperature": settings.temperature,
        limit: settings.max_tokens,
        "seed": settings.seed,
    }
    if settings.logprobs:
        chosen |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    given = {name: value for name, value in chosen.items() if value is not None}
    return {**given, **settings.extra_body}
