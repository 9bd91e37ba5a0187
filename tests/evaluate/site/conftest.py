"""A site of three models, whose replies, names and questions try to be more than text."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.protocol import RejectedError, Reply
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.site.write import write_site
from medrcube.taxonomy import cube_tasks

HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</script></td></table><h1>gone</h1>",
    "\x1b[31m\u202eesrever\u202c\u200b A or B",
    "W" * 9000,
    "\u2028'); document.title = 'owned'; ('",
)


class Dice:
    """Right as often as its skill says, by a hash of the question; hostile now and then."""

    def __init__(self, name, items, skill):
        self.name = name
        self.identity = {"adapter": "test/1", "name": name, "note": HOSTILE[0]}
        self._items, self._skill = items, skill

    async def answer(self, request):
        item = self._items[request.item]
        lot = int.from_bytes(hashlib.sha256(f"{self.name}{item.id}".encode()).digest()[:4])
        text = item.key if lot % 100 < self._skill else HOSTILE[lot // 100 % len(HOSTILE)]
        return Reply(text=text, finish_reason="stop", usage={}, model="m", latency=0.1)

    async def close(self):
        pass


def make_rows(row):
    for number in range(48):
        yield row(
            number,
            task=cube_tasks()[number % 4].release_name,
            image_path=f"pictures/{'p' * (number + 1)}.png",  # other bytes for each name
            question=f"{number}: what is it? {HOSTILE[number % 4]}",
            restricted=number % 6 == 0,
        )


@pytest.fixture(scope="session")
def demo_site(tmp_path_factory, row, write_release):
    """The release, its runs and the site, below a folder whose name has a space."""
    folder = tmp_path_factory.mktemp("site of models")
    release = write_release(folder / "release", list(make_rows(row)))
    benchmark = load_benchmark(release)
    items = {item.name: item for item in benchmark.items}
    runs = []
    for name, skill in (("test/poor", 15), ("test/able", 90), (f"test/{HOSTILE[1]}", 50)):
        runs.append(folder / f"run{len(runs)}")
        run_evaluation(benchmark, Dice(name, items, skill), runs[-1], may_send=["ALPHA"])
    site = write_site(runs, release, folder / "out")
    return SimpleNamespace(
        release=release, runs=runs, out=folder / "out", site=site, benchmark=benchmark
    )


class Silent(Dice):
    """Fails each question but the first few."""

    def __init__(self, name, items, answered):
        super().__init__(name, items, 100)
        self._remaining = answered

    async def answer(self, request):
        self._remaining -= 1
        if self._remaining < 0:
            raise RejectedError("no reply", code="400")
        return await super().answer(request)


class Cut(Dice):
    """Is cut before it answers, each sixth time."""

    async def answer(self, request):
        reply = await super().answer(request)
        lot = hashlib.sha256(self._items[request.item].id.encode()).digest()[0]
        return replace(reply, text="I", finish_reason="length") if lot % 6 == 0 else reply


@pytest.fixture(scope="session")
def mixed(demo_site, tmp_path_factory):
    """The same runs with one that was cut, one without most replies, and two samples."""
    folder = tmp_path_factory.mktemp("mixed")
    items = {item.name: item for item in demo_site.benchmark.items}
    models = {
        "cut": (Cut("test/cut", items, 80), None),
        "silent": (Silent("test/silent", items, 5), None),
        "sample": (Dice("test/sample", items, 95), 20),
        "other": (Dice("test/other", items, 10), 20),
    }
    for name, (model, limit) in models.items():
        run_evaluation(demo_site.benchmark, model, folder / name, may_send=["ALPHA"], limit=limit)
    runs = [*demo_site.runs, *(folder / name for name in models)]
    write_site(runs, demo_site.release, folder / "out")
    return SimpleNamespace(folder=folder, runs=runs, out=folder / "out", release=demo_site.release)
