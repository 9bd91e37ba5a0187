"""How every script here measures itself: the work alone, after all imports, several times.

Plain Python without dependencies, because the environments of the peers hold nothing of ours.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path


def arguments() -> argparse.ArgumentParser:
    """What every script takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path, help="emptied before each run")
    parser.add_argument("--times", type=int, default=1, help="runs, each timed for itself")
    parser.add_argument("--batch", type=int, default=1, help="how often one run does the work")
    return parser


def measure(args: argparse.Namespace, work: Callable[[], int]) -> None:
    """Print one line of JSON: seconds of each run, images made, and the memory it took.

    ``work`` returns the number of images of one run.
    """
    seconds = []
    pictures = 0
    idle = peak_memory()
    for _ in range(args.times):
        shutil.rmtree(args.out, ignore_errors=True)
        args.out.mkdir(parents=True)
        gc.collect()
        started = time.perf_counter()
        pictures = work()
        seconds.append(time.perf_counter() - started)
    images = [path for path in args.out.rglob("*") if path.suffix == ".png"]
    sizes = [path.stat().st_size for path in images]
    result = {
        "seconds": seconds,
        "pictures": pictures,
        "files": len(images),
        "bytes": sum(sizes),
    }
    print(json.dumps({**result, "idle": idle, "peak": peak_memory()}))


def serve(work: Callable[[], int], out: Path) -> None:
    """Do the work when a line on standard input says how often, and answer with its time.

    One process stays for all runs, so that nothing but the work is measured, and each side of a
    comparison takes its turn when it is asked. Empties ``out`` before each run.

    Args:
        work: makes the images of one run in ``out`` and returns their number.
        out: the folder of the images.
    """
    print("ready", flush=True)
    for line in sys.stdin:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        gc.collect()
        wall, processor = time.perf_counter(), time.process_time()
        pictures = sum(work() for _ in range(int(line)))
        result = {
            "processor": time.process_time() - processor,
            "wall": time.perf_counter() - wall,
            "pictures": pictures,
            "peak": peak_memory(),
        }
        print(json.dumps(result), flush=True)


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes."""
    table = Path("/proc/self/status")
    if table.exists():  # ru_maxrss of Linux goes on from that of the process that started this one
        lines = table.read_text("utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes if sys.platform == "darwin" else kilobytes * 1024
