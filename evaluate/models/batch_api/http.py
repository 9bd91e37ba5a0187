"""HTTP client for batch APIs: small JSON, streamed uploads, size limits on untrusted responses."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from medrcube.errors import MissingExtraError, ModelError
from medrcube.evaluate.models.endpoint_errors import Sender, read_problem
from medrcube.evaluate.models.protocol import RejectedError, TransientError
from medrcube.model_endpoint import printable_line, retry_after

try:
    import httpx2
except ImportError as error:
    raise MissingExtraError("httpx2", "evaluate") from error

__all__ = ["BatchHttp", "file_parts", "safe_id"]

LONGEST_LINE = 16 * 2**20
"""Largest line of results in bytes; the same as for a single reply."""

_LONGEST_ANSWER = 2**24
_CHUNK = 2**18
_TIMES = httpx2.Timeout(600.0, connect=10.0)
"""Timeout in seconds for one step of a transfer; a 200 MB upload has many steps."""


class BatchHttp:
    """HTTP client of one endpoint's batch API."""

    def __init__(self, sender: Sender, headers: Mapping[str, str]) -> None:
        """Connect to nothing yet."""
        self._sender = sender
        address, _, query = sender.url.partition("?")
        self._base = f"{address.rstrip('/')}/"
        self._client = httpx2.AsyncClient(headers=dict(headers), params=query, timeout=_TIMES)

    async def json(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        parameters: Mapping[str, str | int] | None = None,
    ) -> Mapping[str, Any]:
        """Send a small request and return the JSON object of the response."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if content else {}
        return await self._object(method, path, content, headers, parameters)

    async def send(
        self, path: str, parts: AsyncIterator[bytes], size: int, content_type: str
    ) -> Mapping[str, Any]:
        """Send a large body in parts and return the JSON object of the response."""
        headers = {"Content-Type": content_type, "Content-Length": str(size)}
        return await self._object("POST", path, parts, headers, None)

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """Stream the lines of a file at the provider."""
        rest = b""
        try:
            async with self._client.stream("GET", self._base + path) as response:
                if response.status_code >= 300:
                    raise self._error(response, await _bounded(response))
                async for part in response.aiter_bytes():
                    *whole, rest = (rest + part).split(b"\n")
                    for line in whole:
                        yield line
                    if len(rest) > LONGEST_LINE:
                        raise RejectedError(
                            f"a line of results has more than {LONGEST_LINE:,} bytes",
                            code="too-large",
                        )
        except httpx2.HTTPError as error:
            raise self._lost(error) from None
        if rest:
            yield rest

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _object(
        self,
        method: str,
        path: str,
        content: bytes | AsyncIterator[bytes] | None,
        headers: Mapping[str, str],
        parameters: Mapping[str, str | int] | None,
    ) -> Mapping[str, Any]:
        request = self._client.build_request(
            method, self._base + path, content=content, headers=dict(headers), params=parameters
        )
        try:
            response = await self._client.send(request, stream=True)
            try:
                data = await _bounded(response)
            finally:
                await response.aclose()
        except httpx2.HTTPError as error:
            raise self._lost(error) from None
        if response.status_code >= 300:
            raise self._error(response, data)
        value = _parsed(data)
        if not isinstance(value, dict):
            text = self._sender.scrub(printable_line(data[:2000].decode("utf-8", "replace")))
            raise TransientError(f"{path}: answer is not an object: {text}", code="malformed")
        return value

    def _error(self, response: httpx2.Response, data: bytes) -> Exception:
        body = _parsed(data)
        text = data[:2000].decode("utf-8", "replace")
        problem = read_problem(response.status_code, text if body is None else body)
        error = self._sender.error(problem, retry_after(response.headers))
        if isinstance(error, ModelError) and response.status_code == 404:
            words = str(error).partition("\n")[0]
            return ModelError(
                f"{words}\ncheck that this account sent the batch and that the endpoint has batches"
            )
        return error

    def _lost(self, error: httpx2.HTTPError) -> TransientError:
        words = self._sender.scrub(str(error) or type(error).__name__)
        return TransientError(f"connection failed: {printable_line(words)}", code="connection")


async def file_parts(file: Path, head: bytes = b"", tail: bytes = b"") -> AsyncIterator[bytes]:
    """Yield a file in parts, between ``head`` and ``tail``."""
    if head:
        yield head
    with file.open("rb") as opened:
        while part := await asyncio.to_thread(opened.read, _CHUNK):
            yield part
    if tail:
        yield tail


def safe_id(value: object) -> str:
    """A provider's id, checked because it becomes part of a URL.

    Raises:
        TransientError: it is not a valid id.
    """
    if not isinstance(value, str) or not re.fullmatch(r"[\w-][\w.-]{0,199}", value):
        raise TransientError(f"an id is {printable_line(repr(value), 80)}", code="malformed")
    return value


def _parsed(data: bytes) -> object:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value


async def _bounded(response: httpx2.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > _LONGEST_ANSWER:
            raise RejectedError(
                f"the response has more than {_LONGEST_ANSWER:,} bytes", code="too-large"
            )
    return b"".join(parts)
