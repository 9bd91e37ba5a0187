"""A small release with picture files, a model that follows a script, a server that misbehaves."""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark, load_benchmark
from medrcube.evaluate.models.protocol import Reply
from medrcube.evaluate.outcomes import AnswerOutcome, Result
from medrcube.evaluate.questions.conditions import Condition, Presentation, rotate
from medrcube.evaluate.runner.run import RetryPolicy
from medrcube.evaluate.runner.run_folder import AskedQuestion
from medrcube.taxonomy import Anatomy, Modality, Task

sys.path.insert(0, str(Path(__file__).parent))

FAST = RetryPolicy(attempts=3, rate_limited=20, first_wait=0.01, longest_wait=0.05)


def png(shade: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes([shade % 256] * 8) for _ in range(8))
    header = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"tEXt", f"n\0{shade}".encode())
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def make_row(number: int, **changes: Any) -> dict[str, Any]:
    options = ["Normal", "Mass", "Edema", "Fracture"]
    key = number % 4
    base = {
        "id": f"q{number:03}",
        "dataset": "ALPHA",
        "image_path": f"pictures/p{number // 2}.png",
        "question": f"What does picture {number} show?",
        **{f"option_{letter}": text for letter, text in zip("ABCD", options, strict=True)},
        "gt_answer": options[key],
        "correct_index": key,
        "task": "Disease Diagnosis",
        "modality": "X-ray",
        "parts": "Chest",
        "original_task": "classification",
        "restricted": False,
    }
    return {**base, **changes}


def make_release(root: Path, rows: list[dict[str, Any]], *, pictures: bool = True) -> Path:
    for item in rows:
        folder = root / item.get("dataset", "ALPHA")
        folder.mkdir(parents=True, exist_ok=True)
        image = item.get("image_path")
        if pictures and image:
            path = folder / image
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(png(sum(image.encode())))
    for folder in {root / item.get("dataset", "ALPHA") for item in rows}:
        mine = [item for item in rows if root / item.get("dataset", "ALPHA") == folder]
        (folder / "test.json").write_text(json.dumps(mine), encoding="utf-8")
    return root


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return make_release(tmp_path / "release", [make_row(number) for number in range(8)])


@pytest.fixture
def benchmark(release: Path) -> Benchmark:
    return load_benchmark(release)


@dataclass(slots=True)
class Behaviour:
    """What the server does with one request: status, headers, body, delay; or a cut line."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False


def make_completion(text: str | None, *, reason: str = "stop", **message: Any) -> Behaviour:
    return Behaviour(
        body={
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": "stub-1",
            "system_fingerprint": "fp_1",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reason,
                    "message": {"role": "assistant", "content": text, **message},
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
        }
    )


def make_problem(status: int, message: str, **error: Any) -> Behaviour:
    headers = error.pop("headers", {})
    return Behaviour(status=status, headers=headers, body={"error": {"message": message, **error}})


class Server:
    """A chat-completions endpoint on the loopback interface with a scripted behaviour."""

    def __init__(self) -> None:
        self.behave: Callable[[int, dict[str, Any]], Behaviour] = lambda _n, _b: make_completion(
            "A"
        )
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # a body need not wait for the receipt of its headers
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
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

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            self.headers.append(dict(handler.headers))
            self.paths.append(handler.path)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            answer = self.behave(number, body)
            time.sleep(answer.delay)
            if answer.cut:
                handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
                handler.close_connection = True
                return
            raw = isinstance(answer.body, str | bytes)
            text = answer.body if raw else json.dumps(answer.body)
            data = text if isinstance(text, bytes) else text.encode()
            handler.send_response(answer.status)
            kind = "text/html" if raw else "application/json"
            for name, value in {"Content-Type": kind, **answer.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
        except OSError:
            handler.close_connection = True
        finally:
            with self._lock:
                self.in_flight -= 1

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def find_prompt(body: dict[str, Any]) -> str:
    return next(p["text"] for p in body["messages"][0]["content"] if p["type"] == "text")


@pytest.fixture(scope="session")
def row():
    return make_row


@pytest.fixture(scope="session")
def write_release():
    return make_release


@pytest.fixture
def completion():
    return make_completion


@pytest.fixture
def problem():
    return make_problem


@pytest.fixture
def behaviour():
    return Behaviour


@pytest.fixture
def prompt_of():
    return find_prompt


@pytest.fixture
def fast() -> RetryPolicy:
    return FAST


@pytest.fixture
def load(tmp_path, write_release):
    return lambda *rows: load_benchmark(write_release(tmp_path / "r", list(rows)))


def make_result(
    name: str = "q0",
    right: int | None = 1,
    *,
    outcome: AnswerOutcome | None = None,
    choice: int | None = None,
    picture: str | None = "p0",
    count: int = 4,
    condition: Condition = Condition.FULL,
    turn: int = 0,
    epoch: int = 0,
    **axes: Any,
) -> Result:
    """One scored presentation; ``choice`` is the place of the chosen text, the key has place 0.

    ``right`` none is a reply without a letter.
    """
    item = BenchmarkItem(
        id=name,
        dataset=axes.pop("dataset", "ALPHA"),
        question="What is it?",
        options=axes.pop("options", tuple((letter, f"text {letter}") for letter in "ABCD"[:count])),
        key=axes.pop("key", "A"),
        task=axes.pop("task", Task("Disease Diagnosis")),
        modality=axes.pop("modality", Modality("CT")),
        parts=axes.pop("parts", Anatomy("Lungs")),
        image=None if picture is None else f"ALPHA/{picture}.png",
        original_task=None,
        restricted=False,
        unit=axes.pop("unit", ""),
        set=axes.pop("set", ""),
        role=axes.pop("role", ""),
        set_size=axes.pop("set_size", 0),
        stated_chance=axes.pop("stated_chance", None),
    )
    assert not axes
    place = choice if choice is not None else {True: 0, False: 1, None: None}[right]
    if outcome is None:
        outcomes = {None: AnswerOutcome.UNPARSED, 0: AnswerOutcome.CORRECT}
        outcome = outcomes.get(place, AnswerOutcome.WRONG)
    if outcome not in {AnswerOutcome.CORRECT, AnswerOutcome.WRONG}:
        place = None
    rotation = rotate(item, turn)
    return Result(
        question=AskedQuestion(
            presentation=Presentation(
                item=rotation, condition=condition, turn=turn, epoch=epoch, image=item.image
            ),
            subject=picture,
            image_sha256=picture,
            key=None if outcome is AnswerOutcome.MISSING_IMAGE else "k",
        ),
        outcome=outcome,
        answer=None if place is None else "ABCD"[(place + turn) % count],
        rule="test",
        reply=None,
    )


@pytest.fixture(scope="session")
def result():
    return make_result


class ScriptedModel:
    """Answers what its script says after a moment."""

    name = "scripted/1"

    def __init__(self, script=lambda _request: "A", identity="1", usage=None, seconds=0.002):
        self.script = script
        self.identity = {"adapter": "scripted", "version": identity}
        self.usage = usage or {}
        self.seconds = seconds
        self.requests = []
        self.now = self.most = self.most_tasks = 0

    async def answer(self, request):
        self.requests.append(request)
        self.now += 1
        self.most = max(self.most, self.now)
        self.most_tasks = max(self.most_tasks, len(asyncio.all_tasks()))
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.now -= 1
        text = self.script(request)
        return Reply(text=text, finish_reason="stop", usage=self.usage, model="s", latency=0.0)

    async def close(self):
        """Nothing to close."""


@pytest.fixture
def scripted_model():
    return ScriptedModel
