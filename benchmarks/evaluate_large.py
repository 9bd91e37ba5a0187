"""Evaluate made-up releases of many items: memory and processor time of every command.

Usage: ``python evaluate_large.py FOLDER [--sizes N ...] [--asked N] [--page FILE]``. A run
gets replies to all questions but the last ``--asked`` without any request; these are then asked at
an endpoint on this machine that answers after 200 ms. After that ``evaluate``, ``score`` and
``report`` work on the complete run. Each program is a process of its own. Prints one line of JSON;
with ``--page`` the section of that page is replaced too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import machine
from evaluate_data import make_large_release

from evaluate import CONNECTIONS, Endpoint, endpoint
from medrcube.files.atomic import write_text
from medrcube.templates import render_card

SIZES = (10_000, 30_000, 100_000)
QUESTIONS = 8_000
LATENCY = 0.2
TARGETS = (("resume", 5, 400), ("score", 20, 400), ("report", 20, 400), ("images", 20, 400))
"""Of each command: most seconds of processor time, and most megabytes."""

NAMES = {
    "resume": "`evaluate`, nothing left to ask",
    "score": "`score`",
    "report": "`report`",
    "images": "`report --release`",
}
_NEXT = "## Which PNG encoder, and why\n"
_HERE = Path(__file__).resolve().parent
_COMMAND = Path(sys.executable).with_name("medrcube")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument(
        "--asked", type=int, default=QUESTIONS, help="questions that are really asked"
    )
    parser.add_argument("--page", type=Path, help="page whose section is replaced")
    args = parser.parse_args()
    conditions = machine.describe()
    rows = [_measure(args.folder, size, min(args.asked, size)) for size in args.sizes]
    if args.page is not None:
        _replace_section(args.page, section(rows, conditions))
    print(json.dumps(rows))


def section(rows: Sequence[Mapping[str, Any]], conditions: Mapping[str, str]) -> str:
    """The part of the page on performance."""
    return render_card(
        "evaluate_large.md", rows=rows, conditions=conditions, targets=TARGETS, names=NAMES
    )


def _replace_section(page: Path, text: str) -> None:
    """Put the section in place of that of the page, or before the choice of an encoder."""
    before, heading, rest = page.read_text("utf-8").partition("## Evaluate at ")
    if not heading:
        before, _, rest = page.read_text("utf-8").partition(_NEXT)
    else:
        _, _, rest = rest.partition(_NEXT)
    write_text(page, f"{before}{text.strip()}\n\n{_NEXT}{rest}")


def _measure(folder: Path, items: int, question_count: int) -> dict[str, Any]:
    release, out = folder / f"large-{items}", folder / "large-run"
    if not release.exists():
        make_large_release(release, items)
    shutil.rmtree(out, ignore_errors=True)
    with endpoint(LATENCY, 0.0) as place:
        script = (sys.executable, _HERE / "evaluate_ours.py", release, out, place.url, CONNECTIONS)
        filled = json.loads(_run(*script, "--fill")["told"])
        _keep_first(out / "attempts.jsonl", items - question_count)
        place.counts()
        asking = json.loads(_run(*script)["told"])
        counts = place.counts()
        again = _run(*_evaluate(release, out, place))
    return {
        "items": items,
        "asked": asking["answered"],
        "connections": CONNECTIONS,
        "possible": CONNECTIONS / LATENCY,
        "rate": asking["answered"] / asking["asking"],
        "steady": counts["steady"] / LATENCY,
        "cpu_each": asking["cpu"] / asking["answered"],
        "to_first": asking["cpu_to_first"],
        "peak": max(asking["peak_asking"], filled["peak_asking"]),
        "resume": again,
        "score": _run(_COMMAND, "score", out),
        "report": _run(_COMMAND, "report", out, "--out", folder / "large.html"),
        "images": _run(
            *(_COMMAND, "report", out, "--release", release, "--out", folder / "large.html")
        ),
    }


def _evaluate(release: Path, out: Path, place: Endpoint) -> tuple[object, ...]:
    return (
        *(_COMMAND, "evaluate", release, "--out", out, "--max-connections", CONNECTIONS),
        *("--model", "openai/stub", "--base-url", place.url),
    )


def _keep_first(attempts: Path, lines: int) -> None:
    with attempts.open("rb+") as file:
        for _ in range(lines):
            file.readline()
        file.truncate(file.tell())


def _run(*command: object) -> Mapping[str, Any]:
    """Seconds, processor time and largest memory of a command, and the last line it printed."""
    began = time.perf_counter()
    with TemporaryFile("w+") as output, TemporaryFile("w+") as problems:
        process = subprocess.Popen(  # noqa: S603
            [str(part) for part in command], stdout=output, stderr=problems
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        problems.seek(0)
        lines = output.read().splitlines()
        if process.returncode:
            sys.exit(f"{command[1]} failed:\n{problems.read()[-3000:]}")
    return {
        "seconds": time.perf_counter() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "told": lines[-1] if lines else "",
    }


if __name__ == "__main__":
    main()
