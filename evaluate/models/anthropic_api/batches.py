"""Anthropic's Message Batches API: one request with all questions, one results file.

Limits, fields and states are those of
https://platform.claude.com/docs/en/build-with-claude/batch-processing and
https://platform.claude.com/docs/en/api/messages/batches.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from medrcube.evaluate.models.anthropic_api.model import AnthropicModel
from medrcube.evaluate.models.batch_api.http import BatchHttp, file_parts, safe_id
from medrcube.evaluate.models.batch_api.protocol import (
    BatchFileFrame,
    BatchLimits,
    BatchSearch,
    BatchState,
    Letters,
)
from medrcube.evaluate.models.batch_api.result_lines import (
    line_of,
    question_error,
    reply_or_error,
    unfinished,
)
from medrcube.evaluate.models.protocol import AnswerError, ModelRequest, Reply

__all__ = ["AnthropicBatches"]

_PATH = "messages/batches"
_PAGE = 100
_DAY = 86_400
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicBatches:
    """Batches of one model; see ``BatchInterface``."""

    # 256 MB, less a margin: the documentation does not say which megabyte it means.
    limits = BatchLimits(questions=100_000, size=250_000_000)
    frame = BatchFileFrame(head=b'{"requests": [', between=b",\n", tail=b"]}")

    def __init__(self, model: AnthropicModel) -> None:
        """Connect to nothing yet."""
        self._model = model
        self._sender = model.sender
        headers = {name: value for name, value in model.headers.items() if value is not None}
        self._http = BatchHttp(model.sender, headers)

    async def question(self, name: str, request: ModelRequest) -> Sequence[bytes]:
        """Return one question of the request body, in pieces."""
        body = await self._model.body(request)
        return (f'{{"custom_id": "{name}", "params": '.encode(), *body.pieces, b"}")

    async def upload(self, file: Path) -> str:
        """No separate step: the questions are sent with the request."""
        del file
        return ""

    async def create(self, uploaded: str, file: Path, token: str) -> str:
        """Submit a batch and return its id. The token is part of every question's name."""
        del uploaded, token
        size = (await asyncio.to_thread(file.stat)).st_size
        response = await self._http.send(_PATH, file_parts(file), size, "application/json")
        return safe_id(response.get("id"))

    async def search(
        self, token: str, *, questions: int, known_ids: Collection[str], since: float
    ) -> BatchSearch:
        """Search for a batch by the token in its question names, which only its results reveal."""
        after: dict[str, str | int] = {}
        unsure = 0
        while True:
            page = await self._http.json("GET", _PATH, parameters={"limit": _PAGE, **after})
            rows = page.get("data")
            batches = [row for row in rows if isinstance(row, dict)] if rows else []
            for batch in batches:
                name = safe_id(batch.get("id"))
                if (
                    name in known_ids
                    or _total(batch) != questions
                    or _created(batch) < since - _DAY
                ):
                    continue
                if batch.get("processing_status") != "ended":
                    unsure += 1
                elif await self._bears(name, token):
                    return BatchSearch(batch=name)
            too_old = bool(batches) and _created(batches[-1]) < since - _DAY
            if too_old or not (batches and page.get("has_more")):
                return BatchSearch(batch=None, unsure=unsure)
            after = {"after_id": safe_id(batches[-1].get("id"))}

    async def state(self, batch: str) -> BatchState:
        """Return the state of a batch; counts are reported only at its end."""
        batch_object = await self._http.json("GET", f"{_PATH}/{batch}")
        status = str(batch_object.get("processing_status"))
        ended = status == "ended"
        seconds = _seconds(batch_object.get("ended_at")) - _created(batch_object) if ended else 0.0
        return BatchState(status=status, ended=ended, seconds=max(0.0, seconds))

    async def results(
        self, batch: str, state: BatchState, letters: Letters
    ) -> AsyncIterator[tuple[str, Reply | AnswerError]]:
        """Yield results by question name.

        The URL is built here rather than taken from ``results_url``, so that the key goes nowhere
        else.
        """
        del letters
        async for data in self._http.lines(f"{_PATH}/{batch}/results"):
            if (line := line_of(data, self._sender)) is not None:
                yield line["custom_id"], self._result(line.get("result"), state.seconds)

    async def forget(self, batch: str, state: BatchState) -> None:
        """Delete the batch and its contents."""
        del state
        await self._http.json("DELETE", f"{_PATH}/{batch}")

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def _result(self, value: object, seconds: float) -> Reply | AnswerError:
        result = value if isinstance(value, dict) else {}
        kind = result.get("type")
        if kind == "succeeded":
            text = json.dumps(result.get("message"))
            return reply_or_error(lambda: self._model.read(text, (), seconds))
        if kind == "errored":
            outer = result.get("error")
            inner = outer.get("error") if isinstance(outer, dict) else None
            error = inner if isinstance(inner, dict) else outer
            name = error.get("type") if isinstance(error, dict) else None
            return question_error(self._sender, _STATUS_OF.get(str(name), 500), error, seconds)
        return unfinished(f"batch_{kind}", None)

    async def _bears(self, batch: str, token: str) -> bool:
        async for data in self._http.lines(f"{_PATH}/{batch}/results"):
            line = line_of(data, self._sender)
            return line is not None and line["custom_id"].startswith(f"{token}-")
        return False


def _total(batch: Mapping[str, Any]) -> int:
    counts = batch.get("request_counts")
    values = counts.values() if isinstance(counts, dict) else ()
    return sum(value for value in values if type(value) is int)


def _created(batch: Mapping[str, Any]) -> float:
    return _seconds(batch.get("created_at"))


def _seconds(timestamp: object) -> float:
    try:
        return datetime.fromisoformat(str(timestamp)).timestamp()
    except ValueError:
        return 0.0
