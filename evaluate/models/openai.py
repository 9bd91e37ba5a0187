"""Any endpoint that speaks the OpenAI chat-completions protocol, with the picture as it lies.

The key comes from an environment variable. It is kept out of ``identity``, of ``repr`` and of
every message: servers like to repeat it in what they refuse.
"""

from __future__ import annotations

import asyncio
import base64
import os
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from medrcube.endpoints import OFFICIAL_URL, checked_url, is_official, retry_after, scrub
from medrcube.errors import MissingExtraError, ModelError
from medrcube.evaluate.models.contract import (
    Json,
    RejectedError,
    Reply,
    Request,
    TransientError,
)
from medrcube.evaluate.models.registry import ModelSettings

try:
    import openai
    from openai.types.chat import ChatCompletion
except ImportError as error:
    raise MissingExtraError("openai", "evaluate") from error

ADAPTER = "openai/1"
"""Changes whenever the same question would be sent in another form."""

_TRANSIENT_STATUS = {408, 409, 425, 429}
_PARAMETERS = {
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "seed": "seed",
}
_SPENT = {"insufficient_quota", "billing_hard_limit_reached"}
_FILTERED = {"content_filter", "content_policy_violation"}


def open_openai(name: str, settings: ModelSettings) -> OpenAIModel:
    """Open a model behind an OpenAI-compatible endpoint.

    Raises:
        ModelError: the official endpoint is asked without a key, or the address is none.
    """
    url = checked_url(settings.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL_URL)
    key = os.environ.get(settings.api_key_env, "").strip()
    if not key and is_official(url):
        raise ModelError(
            f"no API key: set the environment variable {settings.api_key_env}, name another one "
            "with --api-key-env, or give the --base-url of a server that needs none"
        )
    return OpenAIModel(name, url=url, key=key, settings=settings)


class OpenAIModel:
    """One model behind one endpoint; see ``Model`` for the contract."""

    def __init__(self, name: str, *, url: str, key: str, settings: ModelSettings) -> None:
        self._name = name
        self._url = url
        self._key = key
        self._settings = settings
        self._client: openai.AsyncOpenAI | None = None

    @property
    def name(self) -> str:
        """``openai/`` and the name that the endpoint knows."""
        return f"openai/{self._name}"

    @property
    def identity(self) -> Mapping[str, Json]:
        """Adapter, endpoint, model and parameters."""
        return {
            "adapter": ADAPTER,
            "name": self.name,
            "endpoint": self._url,
            "parameters": self._parameters(),
        }

    async def answer(self, request: Request) -> Reply:
        """Send one question; the SDK's own retries are off."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.timeout):
                completion = await self._connection().chat.completions.create(
                    model=self._name,
                    messages=_messages(request),
                    **self._parameters(),
                )
        except (TimeoutError, openai.APITimeoutError):
            raise TransientError(
                f"no whole reply within {self._settings.timeout:g} s", code="timeout"
            ) from None
        except openai.APIStatusError as error:
            if error.code in _FILTERED:
                return self._reply("", "content_filter", started)
            self._refuse(error)
        except openai.APIConnectionError as error:
            cause = self._scrub(str(error.__cause__ or error))
            raise TransientError(f"connection failed: {cause}", code="connection") from None
        except (openai.APIError, ValueError) as error:
            raise TransientError(
                f"reply is no chat completion: {self._scrub(str(error))}", code="malformed"
            ) from None
        return self._read(completion, started)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _connection(self) -> openai.AsyncOpenAI:
        if self._client is None:
            # The SDK wants a key even where the server wants none.
            self._client = openai.AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self._url,
                max_retries=0,
                timeout=self._settings.timeout,
            )
        return self._client

    def _parameters(self) -> dict[str, Any]:
        # The official endpoint renamed the limit; most other servers know the old name only.
        official = is_official(self._url)
        limit = "max_completion_tokens" if official else "max_tokens"
        chosen = {
            "temperature": self._settings.temperature,
            limit: self._settings.max_tokens,
            "seed": self._settings.seed,
        }
        return {name: value for name, value in chosen.items() if value is not None}

    def _read(self, completion: object, started: float) -> Reply:
        choices = completion.choices if isinstance(completion, ChatCompletion) else None
        if not isinstance(completion, ChatCompletion) or not choices:
            found = getattr(completion, "error", None) or str(completion)[:200]
            raise TransientError(
                f"reply is no chat completion: {self._scrub(str(found))}", code="malformed"
            )
        message, reason = choices[0].message, str(choices[0].finish_reason or "stop")
        if message is None:
            raise TransientError("reply has no message", code="malformed")
        if message.refusal:
            return self._reply(message.refusal, "refusal", started, completion)
        text = message.content if isinstance(message.content, str) else ""
        if not text.strip() and reason not in {"length", "content_filter"}:
            raise TransientError(
                f"reply without text (finish reason {reason!r})", code="empty-reply"
            )
        return self._reply(text, reason, started, completion)

    def _reply(
        self, text: str, reason: str, started: float, completion: ChatCompletion | None = None
    ) -> Reply:
        usage: dict[str, int] = {}
        model = self._name
        if completion is not None:
            model = "@".join(filter(None, (completion.model, completion.system_fingerprint)))
            if completion.usage is not None:
                names = ("prompt_tokens", "completion_tokens", "total_tokens")
                counts = {name: getattr(completion.usage, name, None) for name in names}
                usage = {name: n for name, n in counts.items() if isinstance(n, int)}
        return Reply(
            text=self._scrub(text),
            finish_reason=reason,
            usage=usage,
            model=self._scrub(model),
            latency=time.monotonic() - started,
        )

    def _refuse(self, error: openai.APIStatusError) -> NoReturn:
        """Sort an HTTP error by who can mend it: time, nobody, or the user."""
        status, message = error.status_code, self._scrub(_server_message(error))
        where = f"{self._url} answered {status} for model {self._name!r}: {message}"
        if status in {401, 402, 403} or error.code in _SPENT:
            raise ModelError(
                f"{where}\ncheck the key in {self._settings.api_key_env} and what it may use"
            ) from None
        if status == 404 or _names_missing_model(error, message):
            raise ModelError(f"{where}\ncheck --base-url and the name of the model") from None
        if status in _TRANSIENT_STATUS or status >= 500:
            raise TransientError(
                f"{status}: {message}",
                code=str(status),
                retry_after=retry_after(error.response.headers),
            ) from None
        if error.param in _PARAMETERS:
            raise ModelError(
                f"{where}\nthe model does not take this parameter: set {_PARAMETERS[error.param]} "
                "to a value it takes, or to none"
            ) from None
        raise RejectedError(f"{status}: {message}", code=str(status)) from None

    def _scrub(self, text: str) -> str:
        return scrub(text, self._key)


def _messages(request: Request) -> Any:
    content: list[dict[str, Any]] = []
    if (picture := request.picture) is not None:
        data = base64.b64encode(picture.data).decode("ascii")
        url = f"data:{picture.media_type};base64,{data}"
        content.append({"type": "image_url", "image_url": {"url": url}})
    content.append({"type": "text", "text": request.prompt})
    return [{"role": "user", "content": content}]


def _server_message(error: openai.APIStatusError) -> str:
    body = error.body
    inner = body.get("message") if isinstance(body, Mapping) else None
    text = " ".join(str(inner or body or error.message).split())
    return text[:500]


def _names_missing_model(error: openai.APIStatusError, message: str) -> bool:
    if error.code == "model_not_found":
        return True
    folded = message.casefold()
    return (
        error.status_code == 400
        and "model" in folded
        and ("not found" in folded or "does not exist" in folded)
    )
