"""A model in the same process that does what a test says, and counts."""

from __future__ import annotations

import asyncio

import pytest

from medrcube.evaluate.models.protocol import Reply


class Scripted:
    """Answers what its script says after a moment."""

    name = "scripted/1"

    def __init__(self, script=lambda _request: "A", identity="1", usage=None, seconds=0.002):
        self.script = script
        self.identity = {"adapter": "scripted", "version": identity}
        self.usage = usage or {}
        self.seconds = seconds
        self.asked = []
        self.now = self.most = self.most_tasks = 0

    async def answer(self, request):
        self.asked.append(request)
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
def scripted():
    return Scripted
