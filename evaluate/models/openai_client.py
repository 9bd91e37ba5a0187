"""Carries one request to a chat-completions endpoint and sorts what goes wrong by who can mend it.

The SDK of OpenAI does the talking, over aiohttp: its pool does not slow down with hundreds of
connections. The body is sent as it is given and the response comes back as bytes, because building
typed objects from both costs more time than all the rest.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlsplit

from medrcube.endpoints import one_line, retry_after, scrub
from medrcube.errors import MissingExtraError, ModelError
from medrcube.evaluate.models.contract import RejectedError, TransientError
from medrcube.evaluate.models.openai_body import Body

try:
    import openai
except ImportError as error:
    raise MissingExtraError("openai", "evaluate") from error

_PATH = "/chat/completions"
_CONNECT = 10.0
"""Seconds until an address that does not answer at all is given up."""

LARGEST_REPLY = 16 * 2**20
"""Bytes of one response, unpacked; a reply of 100,000 tokens with log-probabilities has fewer."""

_TRANSIENT_STATUS = {408, 409, 425, 429}
_SPENT = {"insufficient_quota", "billing_hard_limit_reached"}
_FILTERED = {"content_filter", "content_policy_violation"}
_ADVICE = {
    "temperature": "set --temperature to a value that it takes, or to none",
    "max_tokens": "set --max-tokens to a value that it takes, or to none",
    "max_completion_tokens": "set --max-tokens to a value that it takes, or to none",
    "seed": "leave out --seed",
    "logprobs": "leave out --logprobs",
    "top_logprobs": "leave out --logprobs",
}
_NO_MODEL = re.compile(r"model\b.{0,200}\b(not found|does not exist)", re.DOTALL | re.IGNORECASE)


class _Bounded(openai.DefaultAioHttpClient):
    """Reads no more of a response than a reply can have, however small it was packed."""

    async def send(self, request: Any, *, stream: bool = False, **how: Any) -> Any:
        response = await super().send(request, stream=True, **how)
        if stream:
            return response
        try:
            parts, size = [], 0
            async for part in response.aiter_bytes():
                parts.append(part)
                size += len(part)
                if size > LARGEST_REPLY:
                    raise RejectedError(
                        f"the response has more than {LARGEST_REPLY:,} bytes; it was not read",
                        code="too-large",
                    )
        finally:
            await response.aclose()
        unpacked = {"content-encoding", "content-length", "transfer-encoding"}
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() not in unpacked
        ]
        return type(response)(
            response.status_code, headers=headers, content=b"".join(parts), request=response.request
        )


class ChatClient:
    """One endpoint, with its pool of connections."""

    def __init__(self, *, url: str, key: str, key_env: str, model: str, timeout: float) -> None:
        self._key = key
        self._key_env = key_env
        self._asked = f"{url} answered {{}} for model {model!r}"
        self._timeout = timeout
        address, _, query = url.partition("?")
        # The SDK wants a key even where the server wants none; Azure wants it in a header as well.
        azure = (urlsplit(url).hostname or "").endswith(".azure.com")
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=address,
            default_query=dict(parse_qsl(query)),
            default_headers={"api-key": key} if azure else None,
            max_retries=0,
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT)),
            http_client=_Bounded(),
        )

    async def post(self, body: Body) -> bytes | None:
        """Send one request once; the SDK's own retries are off.

        Returns:
            The body of a successful response; ``None`` when a filter of the provider stopped it.

        Raises:
            TransientError: asking again may help.
            RejectedError: this question will never be answered.
            ModelError: no question will be answered.
        """
        headers = {"Content-Type": "application/json", "Content-Length": str(body.size)}
        try:
            async with asyncio.timeout(self._timeout):
                return await self._client.post(
                    _PATH, cast_to=bytes, content=body, options={"headers": headers}
                )
        except TimeoutError:
            raise self._too_slow() from None
        except openai.APIStatusError as error:
            if error.code in _FILTERED:
                return None
            self._refuse(error)
        except openai.APIConnectionError as error:
            cause = _root(error)
            if isinstance(cause, TimeoutError):
                raise self._too_slow() from None
            message = self._scrub(str(cause) or type(cause).__name__)
            raise TransientError(f"connection failed: {message}", code="connection") from None
        except (openai.APIError, ValueError) as error:
            message = self._scrub(str(error))
            raise TransientError(f"reply is no HTTP: {message}", code="malformed") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _too_slow(self) -> TransientError:
        return TransientError(f"no whole reply within {self._timeout:g} s", code="timeout")

    def _refuse(self, error: openai.APIStatusError) -> NoReturn:
        status, message = error.status_code, self._scrub(_server_message(error))
        where = f"{self._asked.format(status)}: {message}"
        if status in {401, 402, 403} or error.code in _SPENT:
            raise ModelError(
                f"{where}\ncheck the key in {self._key_env} and what it may use"
            ) from None
        no_model = status == 400 and _NO_MODEL.search(message)
        if status == 404 or error.code == "model_not_found" or no_model:
            raise ModelError(f"{where}\ncheck --base-url and the name of the model") from None
        if status in _TRANSIENT_STATUS or status >= 500:
            raise TransientError(
                f"{status}: {message}",
                code=str(status),
                retry_after=retry_after(error.response.headers),
            ) from None
        if error.param in _ADVICE:
            raise ModelError(f"{where}\n{_ADVICE[error.param]}") from None
        raise RejectedError(f"{status}: {message}", code=str(status)) from None

    def _scrub(self, text: str) -> str:
        return scrub(text, self._key)


def _root(error: BaseException) -> BaseException:
    """What went wrong below the SDK, which takes every lost connection for a slow one."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _server_message(error: openai.APIStatusError) -> str:
    body = error.body
    inner = body.get("message") if isinstance(body, Mapping) else None
    return one_line(str(inner or body or error.message), 500)
