"""A chat-completions endpoint that answers after a set time, and counts.

Usage: ``python endpoint.py MEDIAN SIGMA [CAP]``: latency is log-normal with that median in seconds
and that sigma; SIGMA 0 makes it constant. More than CAP requests at a time get 429 with
``Retry-After: 1``. Prints its port. ``GET /counts`` tells what happened and begins to count anew.
"""

from __future__ import annotations

import asyncio
import math
import random
import socket
import sys
import time

from aiohttp import web

_ANSWER = {
    "id": "c",
    "object": "chat.completion",
    "created": 0,
    "model": "stub-1",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A"}}
    ],
    "usage": {"prompt_tokens": 300, "completion_tokens": 1, "total_tokens": 301},
}


class Counts:
    """Requests in flight over time, as the endpoint sees them."""

    def __init__(self) -> None:
        self.now = 0
        self.begin()

    def begin(self) -> None:
        self.requests = self.refused = self.bytes = self.most = 0
        self.first = self.last = self.last_sent = self.until_last_sent = 0.0
        self.area = self._at = 0.0

    def step(self, change: int) -> None:
        at = time.perf_counter()
        self.first = self.first or at
        self.area += self.now * (at - (self._at or at))
        self._at = self.last = at
        self.now += change
        self.most = max(self.most, self.now)
        if change > 0:
            self.until_last_sent, self.last_sent = self.area, at

    def told(self) -> dict[str, float]:
        """``steady`` is the mean until the last request came, so without the end of the run."""
        seconds, sending = self.last - self.first, self.last_sent - self.first
        return {
            "requests": self.requests,
            "refused": self.refused,
            "bytes": self.bytes,
            "most": self.most,
            "seconds": seconds,
            "mean": self.area / seconds if seconds else 0.0,
            "steady": self.until_last_sent / sending if sending else 0.0,
        }


def main() -> None:
    median, sigma = float(sys.argv[1]), float(sys.argv[2])
    cap = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    counts = Counts()
    # One seed: every client meets the same latencies, in the order of its requests.
    rng = random.Random(1)  # noqa: S311

    async def complete(request: web.Request) -> web.Response:
        size = len(await request.read())
        counts.bytes += size
        counts.requests += 1
        if cap and counts.now >= cap:
            counts.refused += 1
            body = {"error": {"message": "too many at a time"}}
            return web.json_response(body, status=429, headers={"Retry-After": "1"})
        counts.step(+1)
        try:
            await asyncio.sleep(rng.lognormvariate(math.log(median), sigma))
            return web.json_response(_ANSWER)
        finally:
            counts.step(-1)

    async def tell(_request: web.Request) -> web.Response:
        totals = counts.told()
        counts.begin()
        return web.json_response(totals)

    app = web.Application(client_max_size=2**30)
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/counts", tell)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    web.run_app(app, sock=listener, print=None)


if __name__ == "__main__":
    main()
