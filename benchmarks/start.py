"""Processor time that a worker takes before it works: to start, and to load what its jobs need.

Usage: ``python start.py DATA OUT``. A worker renders the same case twice; prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import ours

from medrcube.build.execution.local import LocalEngine
from medrcube.build.stages.rendering.render import render_job


def main() -> None:
    job, out = ours.job_of(Path(sys.argv[1])), Path(sys.argv[2])
    with LocalEngine(1).pool() as pool:
        seconds = [pool.submit(time.process_time).result()]
        for _ in range(2):
            pool.submit(render_job, job, out).result()
            seconds.append(pool.submit(time.process_time).result())
    started, first, second = seconds
    print(json.dumps(started + (first - started) - (second - first)))


if __name__ == "__main__":
    main()
