"""Evaluate a release with ours once, and measure what that takes of this process.

Usage: ``python evaluate_ours.py RELEASE OUT URL CONNECTIONS [LIMIT]``. Prints one line of JSON.
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
from medrcube.evaluate.models.registry import ModelSettings, open_model
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.runner.run_state import RunProgress

_TICK = 0.005


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
class Asking:
    """Notes when the first question was asked and the last reply came."""

    began: tuple[float, float] | None = None
    ended: tuple[float, float] = (0.0, 0.0)

    def __call__(self, _progress: RunProgress) -> None:
        self.ended = (time.perf_counter(), time.process_time())
        self.began = self.began or self.ended


def main() -> None:
    release, out, url, connections = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:5]
    limit = int(sys.argv[5]) if len(sys.argv) > 5 else None
    started = time.perf_counter()
    idle = peak_memory()
    asking = Asking()
    model = Watched(open_model("openai/stub", ModelSettings(base_url=url)))
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
    found = {
        "answered": summary.answered,
        "failed": summary.failed,
        "reused": summary.reused,
        "asking": seconds,
        "cpu": cpu,
        "total": time.perf_counter() - started,
        "to_first": began[0] - started,
        "late": model.late,
        "idle": idle,
        "peak": peak_memory(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
