"""A provider with batches on the loopback interface: OpenAI's wire form and Anthropic's.

Written by hand in the form of both interfaces; no recording of either, and no provider was asked.
"""

from __future__ import annotations

import email
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.runner.run import Polling, run_evaluation

KEY = "sk-canary-0123456789abcdef"
ENDED = {"openai": "completed", "anthropic": "ended"}


@dataclass(slots=True)
class ProviderBatch:
    """A batch at the provider."""

    id: str
    asks: list[tuple[str, dict]]
    created: float
    looks: int = 0
    metadata: dict = field(default_factory=dict)
    input_file: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    status: str = ""


def text_of(body: dict) -> str:
    """The question in a request of either form, after its examples."""
    return next(part["text"] for part in body["messages"][-1]["content"] if part["type"] == "text")


class BatchProvider:
    """Both providers; ``kind`` says which, scripts say what goes wrong.

    Attributes:
        looks: so often a batch is looked at before it has ended.
        reply: text of the reply to a question.
        usage: tokens that are sent and written for a question.
        lose: whether the results lack a question, by how often it was run.
        instead: a line of results for a question, or ``None`` for a reply.
        refuse: status and body of a response, or ``None``; by method, path and the number of such.
        before: called when a request is about to be answered, by method and path.
        ends: status of a batch at its end, where it is not the ordinary one; by its number.
        paid: how often each question was run.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.looks = 2
        self.reply = lambda body: "ABCD"[sum(text_of(body).encode()) % 4]
        self.usage = lambda _body: (10, 1)
        self.lose = lambda _body, _times: False
        self.instead = lambda _body, _times: None
        self.refuse = lambda _method, _path, _number: None
        self.before = lambda _method, _path: None
        self.ends = lambda _number: None
        self.paid: Counter[str] = Counter()
        self.batches: list[ProviderBatch] = []
        self.files: dict[str, bytes] = {}
        self.calls: Counter[tuple[str, str]] = Counter()
        self.singles: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.deleted: list[str] = []
        self._lock = threading.RLock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # a body need not wait for the receipt of its headers
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.serve(self)

            def do_POST(self) -> None:
                outer.serve(self)

            def do_DELETE(self) -> None:
                outer.serve(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def model(self) -> str:
        return {"openai": "openai/gpt-4.1", "anthropic": "anthropic/claude-sonnet-4-5"}[self.kind]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        data = handler.rfile.read(length)
        method, split = handler.command, urlsplit(handler.path)
        path = split.path.removeprefix("/v1/")
        with self._lock:
            shape = "/".join("*" if any(map(str.isdigit, p)) else p for p in path.split("/"))
            self.calls[method, shape] += 1
            self.headers.append(dict(handler.headers))
            refused = self.refuse(method, shape, self.calls[method, shape])
            if refused is None:
                query = {name: values[0] for name, values in parse_qs(split.query).items()}
                status, body = self._do(method, path, query, data, handler.headers)
            else:
                status, body = refused
            self.before(method, shape)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            handler.send_response(status)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(raw)))
            handler.end_headers()
            handler.wfile.write(raw)
        except OSError:
            handler.close_connection = True

    def _do(self, method, path, query, data, headers):
        if path in {"chat/completions", "messages"}:
            body = json.loads(data)
            self.singles.append(body)
            self.paid[text_of(body)] += 1
            return 200, self._reply(body)
        return (self._openai if self.kind == "openai" else self._anthropic)(
            method, path, query, data, headers
        )

    # --- what both have in common

    def _create(self, asks, **more) -> ProviderBatch:
        batch = ProviderBatch(
            id=f"batch-{len(self.batches)}", asks=asks, created=time.time(), **more
        )
        batch.status = self.ends(len(self.batches)) or ENDED[self.kind]
        self.batches.append(batch)
        if batch.status != "failed":
            self.paid.update(text_of(body) for _, body in asks)
        return batch

    def _lines(self, batch: ProviderBatch) -> list[dict]:
        lines = []
        for name, body in batch.asks:
            times = self.paid[text_of(body)]
            if not self.lose(body, times):
                instead = self.instead(body, times)
                ordinary = self._line(self._reply(body))
                lines.append({"custom_id": name, **(instead or ordinary)})
        random.Random(len(lines)).shuffle(lines)
        return lines

    def _line(self, reply) -> dict:
        if self.kind == "openai":
            return {"id": "r", "response": {"status_code": 200, "body": reply}, "error": None}
        return {"result": {"type": "succeeded", "message": reply}}

    def _reply(self, body) -> dict:
        text, (prompt_tokens, completion_tokens) = self.reply(body), self.usage(body)
        if self.kind == "openai":
            message = {"role": "assistant", "content": text}
            return {
                "object": "chat.completion",
                "model": "gpt-4.1-2025-04-14",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {
                    "prompt_tokens": prompt_tokens,
                    "completion_tokens": completion_tokens,
                    "total_tokens": prompt_tokens + completion_tokens,
                },
            }
        return {
            "type": "message",
            "model": "claude-sonnet-4-5-20250929",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": prompt_tokens, "output_tokens": completion_tokens},
        }

    def _find(self, name: str) -> ProviderBatch | None:
        return next((b for b in self.batches if b.id == name and name not in self.deleted), None)

    # --- OpenAI

    def _openai(self, method, path, query, data, headers):
        match method, path.split("/"):
            case "POST", ["files"]:
                head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
                parts = {
                    part.get_param("name", header="content-disposition"): part.get_payload(
                        decode=True
                    )
                    for part in email.message_from_bytes(head + data).get_payload()
                }
                assert parts["purpose"] == b"batch"
                name = f"file-{len(self.files)}"
                self.files[name] = parts["file"]
                return 200, {"id": name, "object": "file", "purpose": "batch"}
            case "POST", ["batches"]:
                body = json.loads(data)
                assert body["endpoint"] == "/v1/chat/completions"
                rows = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
                assert all(row["url"] == body["endpoint"] for row in rows)
                asks = [(row["custom_id"], row["body"]) for row in rows]
                batch = self._create(
                    asks, metadata=body["metadata"], input_file=body["input_file_id"]
                )
                return 200, self._state(batch)
            case "GET", ["batches"]:
                return 200, self._page([self._state(b) for b in self.batches], query.get("after"))
            case "GET", ["batches", name] if batch := self._find(name):
                batch.looks += 1
                return 200, self._state(batch)
            case "GET", ["files", name, "content"] if name in self.files:
                return 200, self.files[name]
            case "DELETE", ["files", name] if name in self.files:
                del self.files[name]
                self.deleted.append(name)
                return 200, {"id": name, "deleted": True}
        return 404, {"error": {"message": f"no {path}", "type": "invalid_request_error"}}

    def _state(self, batch: ProviderBatch) -> dict:
        ended = batch.looks >= self.looks
        status = batch.status if ended else "in_progress"
        fields = {
            "id": batch.id,
            "object": "batch",
            "status": status,
            "created_at": int(batch.created),
            "input_file_id": batch.input_file,
            "output_file_id": None,
            "error_file_id": None,
            "metadata": batch.metadata,
            "request_counts": {"total": len(batch.asks), "completed": 0, "failed": 0},
        }
        if not ended:
            return fields
        fields[f"{status}_at"] = int(batch.created) + 60
        if status == "failed":
            return {**fields, "errors": {"object": "list", "data": [batch.metadata["error"]]}}
        lines = self._lines(batch)
        good = [line for line in lines if (line["response"] or {}).get("status_code") == 200]
        for kind, some in (
            ("output_file_id", good),
            ("error_file_id", [line for line in lines if line not in good]),
        ):
            if some:
                name = f"{batch.id}-{kind[0]}"
                self.files[name] = "".join(json.dumps(line) + "\n" for line in some).encode()
                fields[kind] = name
        return fields

    # --- Anthropic

    def _anthropic(self, method, path, query, data, headers):
        assert headers["anthropic-version"] == "2023-06-01"
        match method, path.split("/"):
            case "POST", ["messages", "batches"]:
                rows = json.loads(data)["requests"]
                return 200, self._told(self._create([(r["custom_id"], r["params"]) for r in rows]))
            case "GET", ["messages", "batches"]:
                for batch in self.batches:
                    batch.looks += 1
                listed = [self._told(b) for b in self.batches if b.id not in self.deleted]
                return 200, self._page(listed, query.get("after_id"))
            case "GET", ["messages", "batches", name] if batch := self._find(name):
                batch.looks += 1
                return 200, self._told(batch)
            case "GET", ["messages", "batches", name, "results"] if batch := self._find(name):
                return 200, "".join(json.dumps(x) + "\n" for x in self._lines(batch)).encode()
            case "DELETE", ["messages", "batches", name] if self._find(name):
                self.deleted.append(name)
                return 200, {"id": name, "type": "message_batch_deleted"}
        error = {"type": "not_found_error", "message": f"no {path}"}
        return 404, {"type": "error", "error": error}

    def _told(self, batch: ProviderBatch) -> dict:
        ended = batch.looks >= self.looks
        total = len(batch.asks)
        at = datetime.fromtimestamp(batch.created, UTC)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "created_at": at.isoformat(),
            "ended_at": datetime.fromtimestamp(batch.created + 60, UTC).isoformat()
            if ended
            else None,
            "request_counts": {
                "processing": 0 if ended else total,
                "succeeded": total if ended else 0,
                "errored": 0,
                "canceled": 0,
                "expired": 0,
            },
            "results_url": None,
        }

    @staticmethod
    def _page(rows: list[dict], after: str | None) -> dict:
        """The newest first, two on a page."""
        newest = rows[::-1]
        names = [row["id"] for row in newest]
        start = names.index(after) + 1 if after else 0
        return {"data": newest[start : start + 2], "has_more": start + 2 < len(newest)}


@pytest.fixture(params=["openai", "anthropic"])
def provider(request, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    running = BatchProvider(request.param)
    yield running
    running.close()


@pytest.fixture
def soon():
    """Looks after batches without a wait that a test would feel."""
    return Polling(first=0.02, longest=0.1, settled=0.3, unreachable=5.0)


@pytest.fixture
def release_of(write_release, row, tmp_path):
    return lambda count: write_release(tmp_path / "release", [row(n) for n in range(count)])


@pytest.fixture
def run(provider, soon, fast, tmp_path, release_of):
    """Run a release of so many items in batches."""

    def run_batches(count=12, out=tmp_path / "run", **how):
        model = open_model(provider.model, ModelSettings(base_url=provider.url))
        how = {"batches": soon, "retry": fast, **how}
        return run_evaluation(load_benchmark(release_of(count)), model, out, **how)

    return run_batches
