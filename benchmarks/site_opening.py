"""How long a site of 50 models and 8,000 items takes to be written and to open in a browser.

Usage: ``python benchmarks/site_opening.py FOLDER [--only write|open] [--models N] [--items N]
[--rounds N]``. Makes a release and runs with synthetic replies below FOLDER (kept for a next call),
writes the site, and opens its kinds of pages in Chromium, from the folder and under a path of a
server, each time in a browser context of its own, so that nothing is cached. Writes
``benchmarks/site_opening.json`` and the block of ``docs/how-to/publish-a-leaderboard.md`` that is
made from it. ``--only`` does one half, so that pages can be opened on an idle machine.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import shutil
import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.imports.import_run import write_run
from medrcube.evaluate.imports.item_matching import match_replies
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun
from medrcube.evaluate.site.write import write_site
from medrcube.taxonomy import Anatomy, Modality, Task

_HERE = Path(__file__).resolve().parent
RESULT = _HERE / "site_opening.json"
PAGE = _HERE.parent / "docs" / "how-to" / "publish-a-leaderboard.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

PROMISED = 2.0
"""Seconds until a page can be used."""

_PICTURES, _SIDE, _RESTRICTED = 5000, 256, 10
_SOURCES = 5
_PAUSE = 50.0
"""Milliseconds between two looks whether a page can be used; the page itself takes the time."""
_TEXTS = ("Normal", "Mass", "Edema", "Fracture")
_WORDS = (
    "the",
    "image",
    "shows",
    "an",
    "opacity",
    "in",
    "lower",
    "left",
    "field",
    "no",
    "effusion",
)
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

_WATCH = """
(() => {
  const ready = () => document.querySelector(READY) !== null;
  const look = () => { if (ready()) window.usable = performance.now(); else setTimeout(look, 4); };
  look();
})();
"""
_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--items", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("write", "open"))
    args = parser.parse_args()
    out = args.folder / "under" / "a path" / "site"
    output = args.folder / "written.json"
    if args.only != "open":
        release, runs = make_data(args.folder, args.items, args.models)
        output.write_text(json.dumps(_write(runs, release, out)), encoding="utf-8")
    if args.only != "write":
        pages = {"rounds": args.rounds, "load_when_opened": os.getloadavg()[0]}
        pages["pages"] = open_pages(out, args.folder, args.rounds)
        result = {**json.loads(output.read_text(encoding="utf-8")), **pages}
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        write_block(result)
        print(json.dumps(result, indent=1))


def _write(runs: Sequence[Path], release: Path, out: Path) -> dict[str, Any]:
    out.parent.mkdir(parents=True, exist_ok=True)
    load, began = os.getloadavg()[0], time.perf_counter()
    site = write_site(runs, release, out)
    return {
        "models": site.models,
        "items": site.items,
        "files": site.files,
        "pictures": sum(1 for _ in (out / "pictures").iterdir()),
        "bytes": site.bytes,
        "seconds_to_write": time.perf_counter() - began,
        "processors": os.cpu_count(),
        "load": load,
    }


def make_data(folder: Path, items: int, models: int) -> tuple[Path, list[Path]]:
    """A release and runs on it: a few of their own, the others copies under other names."""
    release = folder / "release"
    if not release.exists():
        _make_release(release, items)
    runs = [folder / "runs" / f"model-{number:02}" for number in range(models)]
    sources = runs[:_SOURCES]
    with ProcessPoolExecutor() as pool:
        todo = [(release, run) for run in sources if not (run / "metrics.json").exists()]
        list(pool.map(_make_run, todo))
    for number, run in enumerate(runs[_SOURCES:]):
        _copy(sources[number % len(sources)], run)
    return release, runs


def _copy(source: Path, run: Path) -> None:
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(source, run)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest["model"]["name"] = f"synthetic/{run.name}"
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def _make_release(release: Path, items: int) -> None:
    rng = np.random.default_rng(1)
    cells = list(itertools.product(Task, Modality, Anatomy))
    making = release.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    for source in range(_RESTRICTED):
        (making / f"SOURCE{source}" / "images").mkdir(parents=True)
    for number in range(_PICTURES):
        noise = rng.integers(0, 255, (12, 12), dtype=np.uint8)
        grown = Image.fromarray(noise).resize((_SIDE, _SIDE))
        path = making / f"SOURCE{number % _RESTRICTED}" / "images" / f"{number}.png"
        grown.save(path, compress_level=1)
    rows: dict[int, list[dict[str, Any]]] = {}
    for number in range(items):
        picture = number * _PICTURES // items
        source = picture % _RESTRICTED
        task, modality, parts = cells[(number * 7) % len(cells)]
        row = {
            "id": f"q{number:05}",
            "dataset": f"SOURCE{source}",
            "image_path": f"images/{picture}.png",
            "question": f"What does the picture show, in question number {number}?",
            **{f"option_{letter}": text for letter, text in zip("ABCD", _TEXTS, strict=True)},
            "gt_answer": _TEXTS[number % 4],
            "correct_index": number % 4,
            "task": task.release_name,
            "modality": modality.value,
            "parts": parts.value,
            "original_task": "classification",
            "restricted": source == 0,
        }
        rows.setdefault(source, []).append(row)
    for source, members in rows.items():
        (making / f"SOURCE{source}" / "test.json").write_text(json.dumps(members), encoding="utf-8")
    making.rename(release)


def _make_run(where: tuple[Path, Path]) -> None:
    release, run = where
    benchmark = load_benchmark(release)
    lots = np.random.default_rng(list(run.name.encode()))
    skill = lots.uniform(0.3, 0.85)
    replies = []
    for item in benchmark.items:
        letter = item.key if lots.random() < skill else lots.choice(tuple("ABCD"))
        thought = " ".join(lots.choice(_WORDS, lots.choice((0, 0, 4, 20, 60))))
        text = f"{thought}. Answer: {letter}" if thought else letter
        replies.append(ForeignReply(item=item.name, text=text))
    foreign_run = ForeignRun(tool="synthetic", model=run.name, replies=tuple(replies))
    shutil.rmtree(run, ignore_errors=True)
    write_run(
        foreign_run, match_replies(foreign_run, benchmark.items), benchmark, run, digest=run.name
    )


def open_pages(out: Path, root: Path, rounds: int) -> list[dict[str, Any]]:
    """Seconds until each kind of page is painted and can be used, from a folder and a server."""
    pages = {
        "index.html": "th button",
        f"models/{_first(out / 'models')}": ".figure",
        f"cells/{_first(out / 'cells')}": "th button",
        "cells.html": "th button",
        "items.html": ".list a",
    }
    program = next(filter(None, map(shutil.which, _PROGRAMS)))
    rows = []
    with _served(root) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        inside = out.relative_to(root).as_posix().replace(" ", "%20")
        bases = {"folder": out.as_uri(), "server": f"{address}/{inside}"}
        for (name, ready), (where, base) in itertools.product(pages.items(), bases.items()):
            times = [_open(browser, f"{base}/{name}", ready) for _ in range(rounds)]
            painted, usable = zip(*times, strict=True)
            rows.append({"page": name, "from": where, "painted": painted, "usable": usable})
        browser.close()
    return rows


def _open(browser: Any, address: str, ready: str) -> tuple[float, float]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(_WATCH.replace("READY", json.dumps(ready)))
    page = context.new_page()
    page.goto(address)
    paints = [None]
    while None in paints:  # the policy of the pages forbids wait_for_function
        page.wait_for_timeout(_PAUSE)
        paints = page.evaluate(f"[{_PAINTED}, window.usable ?? null]")
    context.close()
    return paints[0] / 1000, paints[1] / 1000


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _served(root: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(root))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _first(folder: Path) -> str:
    return min(path.name for path in folder.iterdir())


def write_block(result: Mapping[str, Any]) -> None:
    """Put the figures into their page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    summary = (
        f"{result['models']} models, {result['items']:,} items, {result['pictures']:,} pictures: "
        f"{result['files']:,} files, "
        f"{result['bytes'] / 1e6:.0f} MB, written in {result['seconds_to_write']:.0f} s "
        f"({result['processors']} processors, load {result['load']:.1f} when it began). Opened "
        f"{result['rounds']} times each in Chromium at a load of {result['load_when_opened']:.1f}, "
        "nothing cached; seconds, median and worst:"
    )
    lines = [
        summary,
        "",
        "| Page | From | First paint | Can be used |",
        "|---|---|---|---|",
        *(
            f"| {_kind(row['page'])} | {row['from']} | {_seconds(row['painted'])} | "
            f"{_seconds(row['usable'])} |"
            for row in result["pages"]
        ),
    ]
    block = "\n".join(lines)
    PAGE.write_text(f"{before}{BEGIN}\n{block}\n{END}{after}", encoding="utf-8")


def _kind(page: str) -> str:
    folder = page.partition("/")[0]
    return {"models": "a model", "cells": "a cell"}.get(folder, f"`{page}`")


def _seconds(times: Sequence[float]) -> str:
    worst = max(times)
    text = f"{statistics.median(times):.2f}, {worst:.2f}"
    return text if worst < PROMISED else f"**{text}**"


if __name__ == "__main__":
    main()
