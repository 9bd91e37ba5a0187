"""A site of three models, whose replies, names and questions try to be more than text."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest

from medrcube.evaluate.benchmark import load_benchmark
from medrcube.evaluate.models.contract import Reply
from medrcube.evaluate.running.runner import run_evaluation
from medrcube.evaluate.site.writing import write_site
from medrcube.taxonomy import Task

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
            task=list(Task)[number % 4].release_name,
            image_path=f"pictures/{'p' * (number + 1)}.png",  # other bytes for each name
            question=f"{number}: what is it? {HOSTILE[number % 4]}",
            restricted=number % 6 == 0,
        )


@pytest.fixture(scope="session")
def made(tmp_path_factory, row, write_release):
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
