"""OpenAI's Batch API: a request file, a batch, files of replies and errors.

Limits, fields and states are those of https://platform.openai.com/docs/api-reference/batch and
https://platform.openai.com/docs/guides/batch.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

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
from medrcube.evaluate.models.openai_api.model import OpenAIModel
from medrcube.evaluate.models.openai_api.providers import is_azure
from medrcube.evaluate.models.protocol import AnswerError, ModelRequest, Reply
from medrcube.model_endpoint import printable_line

__all__ = ["OpenAIBatches"]

_ENDPOINT = "/v1/chat/completions"
_TOKEN = "medrcube"  # noqa: S105 - name of a field of the metadata
_ENDED = {"completed", "failed", "expired", "cancelled"}
_FILES = ("input_file_id", "output_file_id", "error_file_id")
_PAGE = 100
_DAY = 86_400


class OpenAIBatches:
    """Batches of one model; see ``BatchInterface``."""

    # 200 MB, less the multipart overhead around the file.
    limits = BatchLimits(questions=50_000, size=199_000_000)
    frame = BatchFileFrame(head=b"", between=b"\n", tail=b"\n")

    def __init__(self, model: OpenAIModel) -> None:
        """Connect to nothing yet."""
        self._model = model
        self._sender = model.sender
        key = model.sender.key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        azure = {"api-key": key} if is_azure(model.sender.url) else {}
        self._http = BatchHttp(model.sender, {**headers, **azure})

    async def question(self, name: str, request: ModelRequest) -> Sequence[bytes]:
        """Return one question of the request file, in pieces."""
        body = await self._model.body(request)
        head = json.dumps({"custom_id": name, "method": "POST", "url": _ENDPOINT})[:-1]
        return (f'{head}, "body": '.encode(), *body.pieces, b"}")

    async def upload(self, file: Path) -> str:
        """Upload the request file; nothing is charged."""
        mark = secrets.token_hex(16)
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="batch.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        tail = f"\r\n--{mark}--\r\n".encode()
        size = len(head) + (await asyncio.to_thread(file.stat)).st_size + len(tail)
        response = await self._http.send(
            "files", file_parts(file, head, tail), size, f"multipart/form-data; boundary={mark}"
        )
        return safe_id(response.get("id"))

    async def create(self, uploaded: str, file: Path, token: str) -> str:
        """Submit a batch and return its id."""
        del file
        body = {
            "input_file_id": uploaded,
            "endpoint": _ENDPOINT,
            "completion_window": "24h",
            "metadata": {_TOKEN: token},
        }
        return safe_id((await self._http.json("POST", "batches", body=body)).get("id"))

    async def search(
        self, token: str, *, questions: int, known_ids: Collection[str], since: float
    ) -> BatchSearch:
        """Search for a batch by the token in its metadata."""
        del questions, known_ids
        after: dict[str, str | int] = {}
        while True:
            page = await self._http.json("GET", "batches", parameters={"limit": _PAGE, **after})
            batches = _objects(page.get("data"))
            for batch in batches:
                metadata = batch.get("metadata")
                if isinstance(metadata, dict) and metadata.get(_TOKEN) == token:
                    return BatchSearch(batch=safe_id(batch.get("id")))
            # The newest batches come first.
            too_old = bool(batches) and _number(batches[-1], "created_at") < since - _DAY
            if too_old or not (batches and page.get("has_more")):
                return BatchSearch(batch=None)
            after = {"after": safe_id(batches[-1].get("id"))}

    async def state(self, batch: str) -> BatchState:
        """Return the state of a batch."""
        batch_object = await self._http.json("GET", f"batches/{batch}")
        status, counts = str(batch_object.get("status")), batch_object.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        ended = max((_number(batch_object, f"{end}_at") for end in _ENDED), default=0.0)
        files = {
            name: batch_object[name] for name in _FILES if isinstance(batch_object.get(name), str)
        }
        void, crowded = "", False
        if status == "failed" and not files.keys() - {"input_file_id"}:
            errors = batch_object.get("errors")
            first = _objects(errors.get("data") if isinstance(errors, dict) else None)[:1]
            error: Mapping[str, Any] = first[0] if first else {}
            void = printable_line(str(error.get("message") or "the provider gives no reason"), 500)
            crowded = error.get("code") == "token_limit_exceeded"
        return BatchState(
            status=status,
            ended=status in _ENDED,
            done_count=int(_number(counts, "completed") + _number(counts, "failed")),
            void=self._sender.scrub(void),
            crowded=crowded,
            seconds=max(0.0, ended - _number(batch_object, "created_at")) if ended else 0.0,
            files=files,
        )

    async def results(
        self, batch: str, state: BatchState, letters: Letters
    ) -> AsyncIterator[tuple[str, Reply | AnswerError]]:
        """Yield results by question name: replies are in one file, errors in another."""
        del batch
        for kind in _FILES[1:]:
            if kind not in state.files:
                continue
            async for data in self._http.lines(f"files/{safe_id(state.files[kind])}/content"):
                if (line := line_of(data, self._sender)) is not None:
                    name = line["custom_id"]
                    yield name, self._result(line, letters(name), state.seconds)

    async def forget(self, batch: str, state: BatchState) -> None:
        """Delete the files."""
        del batch
        for name in state.files.values():
            await self._http.json("DELETE", f"files/{safe_id(name)}")

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def _result(
        self, line: Mapping[str, Any], letters: Iterable[str], seconds: float
    ) -> Reply | AnswerError:
        response, error = line.get("response"), line.get("error")
        if isinstance(response, dict) and type(status := response.get("status_code")) is int:
            body = response.get("body")
            if 200 <= status < 300:
                text = json.dumps(body)
                return reply_or_error(lambda: self._model.read(text, list(letters), seconds))
            return question_error(self._sender, status, body, seconds)
        error = error if isinstance(error, dict) else {}
        return unfinished(str(error.get("code") or "no-response"), error.get("message"))


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _number(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) else 0.0
