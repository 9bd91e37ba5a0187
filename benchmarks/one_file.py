"""What one changed file costs: processor time and memory of a build, and of one with nothing to do.

Usage: ``python one_file.py FOLDER CASES first|nothing|change``. The first call writes a raw tree
like that of NIH ChestX-ray14 with images of 8 x 8. Each call builds once, ``change`` after
writing another image in the place of one, and prints one line of JSON: seconds of processor time
of the client, its peak of memory above what it takes before the build, and cases rendered. Jobs
run in the client itself.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import timing
from rebuild import Clock, write_films

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.pixels.png_encoder import encode_png
from medrcube.sources.registry import find_sources
from medrcube.workspace import CONFIG, init_workspace, open_workspace

_SOURCE = "nih-chestxray14"
_FILM = "00000003_001.png"


def main() -> None:
    folder, cases, what = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    root = folder / "raw"
    if not root.exists():
        # In a process of its own, so that its memory does not count as that of the build.
        writing = get_context("spawn").Process(target=_write_tree, args=(root, cases))
        writing.start()
        writing.join()
    if what == "change":
        pixels = np.random.default_rng(time.time_ns()).integers(0, 256, (8, 8), np.uint8)
        (root / "images" / _FILM).write_bytes(encode_png(pixels))
    if not (folder / CONFIG).exists():
        init_workspace(folder)
    workspace = open_workspace(folder).with_sources({_SOURCE: root})
    sources = {_SOURCE: find_sources()[_SOURCE]}
    idle, clock, started = timing.peak_memory(), Clock(), time.process_time()
    report = build(workspace, sources, LocalEngine(1), clock)
    result = {
        "cases": cases,
        "what": what,
        "processor": time.process_time() - started,
        "peak": timing.peak_memory(),
        "bytes_per_case": (timing.peak_memory() - idle) / cases,
        "rendered": report.rendered,
        "stages": clock.seconds,
    }
    print(json.dumps(result))


def _write_tree(root: Path, cases: int) -> None:
    partial = root.with_name("raw.partial")
    shutil.rmtree(partial, ignore_errors=True)
    write_films(partial, cases)
    partial.rename(root)


if __name__ == "__main__":
    main()
