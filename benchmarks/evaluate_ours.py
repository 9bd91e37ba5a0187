"""Evaluate a release with ours once, and measure what that takes of this process.

Usage: ``python evaluate_ours.py RELEASE OUT URL CONNECTIONS [LIMIT | --fill]``. Prints one line of
JSON. With ``--fill`` every question gets a made-up reply at once and no request is sent; a run that
is resumed later then finds replies as of the endpoint.

Processor time is that of asking, from the first question to the last reply, all threads together;
lateness is how much later than asked for a timer in the event loop woke up.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from timing import peak_memory

from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.protocol import Model, ModelRequest, Reply
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.runner.run_state import RunProgress

_TICK = 0.005
_LOOK = 1000
_LONG = (
    "This is {item}. The contours and the grey values speak for one of the options, and against "
    "the others. The answer is {letter}."
)
_FORMS = (0,) * 8 + (1,) * 4 + (2,) * 3 + (3,) + (4,) * 4
"""How often the made-up replies are of each form."""


@dataclass
class Watched:
    """A model beside which a timer ticks in the same event loop."""

    model: Model
    late: float = 0.0
    ticker: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def identity(self) -> object:
        return self.model.identity

    async def answer(self, request: ModelRequest) -> Reply:
        if self.ticker is None:
            self.ticker = asyncio.create_task(self._tick())
        return await self.model.answer(request)

    async def close(self) -> None:
        if self.ticker:
            self.ticker.cancel()
        await self.model.close()

    async def _tick(self) -> None:
        while True:
            due = time.perf_counter() + _TICK
            await asyncio.sleep(_TICK)
            self.late = max(self.late, time.perf_counter() - due)


@dataclass
class Instant:
    """Replies without a request: a letter, words, or a text that no other is equal to."""

    model: Model
    replies: int = 0

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def identity(self) -> object:
        return self.model.identity

    async def answer(self, request: ModelRequest) -> Reply:
        self.replies += 1
        letter, text = request.options[self.replies // 3 % len(request.options)]
        texts = (
            letter,
            f"{letter}. {text}",
            f"The picture shows {text.lower()}.",
            "I cannot tell.",
            _LONG.format(item=request.item, letter=letter),
        )
        return Reply(
            text=texts[_FORMS[self.replies % len(_FORMS)]],
            finish_reason="stop",
            usage={"prompt_tokens": 300, "completion_tokens": 1, "total_tokens": 301},
            model="stub-1",
            latency=0.2,
        )

    async def close(self) -> None:
        await self.model.close()


@dataclass
class Asking:
    """Notes when the first question was asked and the last reply came, and the memory by then."""

    began: tuple[float, float] | None = None
    ended: tuple[float, float] = (0.0, 0.0)
    peak: int = 0

    def __call__(self, progress: RunProgress) -> None:
        self.ended = (time.perf_counter(), time.process_time())
        self.began = self.began or self.ended
        if (
            progress.done_count % _LOOK == 0
            or progress.done_count + progress.reused == progress.total
        ):
            self.peak = peak_memory()


def main() -> None:
    release, out, url, connections = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:5]
    rest = sys.argv[5:]
    limit = None if rest in ([], ["--fill"]) else int(rest[0])
    started, started_cpu = time.perf_counter(), time.process_time()
    idle = peak_memory()
    asking = Asking()
    stub = open_model("openai/stub", ModelSettings(base_url=url))
    model = Watched(Instant(stub) if rest == ["--fill"] else stub)
    summary = run_evaluation(
        load_benchmark(release),
        model,
        out,
        max_connections=int(connections),
        limit=limit,
        on_progress=asking,
    )
    began = asking.began or asking.ended
    seconds, cpu = (after - before for before, after in zip(began, asking.ended, strict=True))
    result = {
        "answered": summary.answered,
        "failed": summary.failed,
        "reused": summary.reused,
        "asking": seconds,
        "cpu": cpu,
        "total": time.perf_counter() - started,
        "to_first": began[0] - started,
        "cpu_to_first": began[1] - started_cpu,
        "late": model.late,
        "idle": idle,
        "peak": peak_memory(),
        "peak_asking": asking.peak,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
