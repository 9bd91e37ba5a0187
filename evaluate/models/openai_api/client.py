"""HTTP client for chat completions; classifies errors by who can fix them.

Uses OpenAI's SDK over aiohttp, whose pool does not slow down with hundreds of connections. Bodies
and responses are raw bytes, because building typed objects would take more time than all the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from medrcube.errors import MissingExtraError
from medrcube.evaluate.models.endpoint_errors import Sender, read_problem
from medrcube.evaluate.models.openai_api.request_body import Body
from medrcube.evaluate.models.protocol import RejectedError, TransientError
from medrcube.model_endpoint import retry_after

try:
    import openai
except ImportError as error:
    raise MissingExtraError("openai", "evaluate") from error

__all__ = ["LARGEST_REPLY", "ChatClient"]

_CONNECT = 10.0
"""Connection timeout in seconds."""

LARGEST_REPLY = 16 * 2**20
"""Largest decompressed response in bytes; 100,000 tokens with log-probabilities take less."""


class _BoundedTransport(openai.DefaultAioHttpClient):
    """Transport that bounds the decompressed size of a response."""

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
    """HTTP client of one endpoint, with its connection pool."""

    def __init__(
        self,
        sender: Sender,
        *,
        timeout: float,
        path: str = "/chat/completions",
        headers: Mapping[str, str | None] | None = None,
    ) -> None:
        """Connect to nothing yet.

        Args:
            sender: address, model and key.
            timeout: seconds for one whole request.
            path: path of the requests.
            headers: headers of every request in addition to the SDK's; ``None`` omits one of those.
        """
        self._sender = sender
        self._timeout = timeout
        self._path = path
        self._headers = {
            name: openai.Omit() if value is None else value
            for name, value in (headers or {}).items()
        }
        address, _, query = sender.url.partition("?")
        # The SDK requires a key even if the server does not.
        self._client = openai.AsyncOpenAI(
            api_key=sender.key or "none",
            base_url=address,
            default_query=dict(parse_qsl(query)),
            max_retries=0,
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT)),
            http_client=_BoundedTransport(),
        )

    async def post(self, body: Body) -> bytes | None:
        """Send one request once; the SDK's own retries are off.

        Returns:
            The body of a successful response; ``None`` when a content filter stopped it.

        Raises:
            TransientError: a retry may help.
            RejectedError: this question will never be answered.
            ModelError: no question will be answered.
        """
        headers = {
            **self._headers,
            "Content-Type": "application/json",
            "Content-Length": str(body.size),
        }
        try:
            async with asyncio.timeout(self._timeout):
                return await self._client.post(
                    self._path, cast_to=bytes, content=body, options={"headers": headers}
                )
        except TimeoutError:
            raise self._too_slow() from None
        except openai.APIStatusError as error:
            problem = read_problem(error.status_code, error.body or error.message)
            if problem.filtered:
                return None
            raise self._sender.error(problem, retry_after(error.response.headers)) from None
        except openai.APIConnectionError as error:
            cause = _root(error)
            if isinstance(cause, TimeoutError):
                raise self._too_slow() from None
            if isinstance(cause, RejectedError):  # our own; early versions of the SDK wrap it
                raise cause from None
            message = self._sender.scrub(str(cause) or type(cause).__name__)
            raise TransientError(f"connection failed: {message}", code="connection") from None
        except (openai.APIError, ValueError) as error:
            message = self._sender.scrub(str(error))
            raise TransientError(f"reply is not HTTP: {message}", code="malformed") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _too_slow(self) -> TransientError:
        return TransientError(f"no whole reply within {self._timeout:g} s", code="timeout")


def _root(error: BaseException) -> BaseException:
    """Return the root cause of an SDK error: the SDK reports every lost connection as a timeout."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
