"""Evaluate a made-up release against an endpoint on this machine, ours and two peers in turn.

Usage: ``python evaluate.py FOLDER [--upstream SCRIPTS] [--inspect PYTHON] [--rounds N]``. The
endpoint is a process of its own on the same cores. SCRIPTS is the ``scripts`` folder of a clone of
the published evaluator, run as its page says it; PYTHON has inspect_ai, and openai, Pillow and tqdm
for the other. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluate_data import make_release

_HERE = Path(__file__).resolve().parent
_MEDIAN = 0.2
_SIGMA = 1.0
_COMMAND = Path(sys.executable).with_name("medrcube")
CONNECTIONS = 64
SIZES = (1000, 4000)
WHOLE = 7626
"""Items of the published benchmark."""

CAPPED = 400
PEER_ITEMS = 4000
UPSTREAM, INSPECT = "upstream, at its defaults", "inspect_ai"
PROMISED = {UPSTREAM: 10.0, INSPECT: 5.0}
"""How many times faster ours is to be where latency is log-normal."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--upstream", type=Path)
    parser.add_argument("--inspect", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    bench = Bench(args.folder)
    constant = [bench.ours(size, 0.0) for size in SIZES for _ in range(args.rounds)]
    results = {
        "connections": CONNECTIONS,
        "picture": bench.mean_picture,
        "constant": [_best(constant, size) for size in SIZES],
        "spread": bench.ours(WHOLE, _SIGMA),
        "capped": bench.capped(),
        "resume": bench.resume(),
        "peers": bench.peers(args.upstream, args.inspect),
    }
    print(json.dumps(results))


@dataclass(frozen=True)
class Bench:
    """Runs each program in a process of its own, in an empty folder."""

    folder: Path

    @property
    def mean_picture(self) -> float:
        sizes = [path.stat().st_size for path in self._release(SIZES[0]).rglob("*.png")]
        return sum(sizes) / len(sizes)

    def ours(self, items: int, sigma: float) -> dict[str, Any]:
        """One run of ours; ``utilisation`` is the share of the connections that was in use."""
        with endpoint(_MEDIAN, sigma) as place:
            figures = self._evaluate(items, place, CONNECTIONS)
            counts = place.counts()
        mean = _MEDIAN * math.exp(sigma**2 / 2)
        return {
            **figures,
            "items": items,
            "rate": items / figures["asking"],
            "cpu_each": figures["cpu"] / items,
            "utilisation": counts["mean"] / CONNECTIONS,
            "steady": counts["steady"] / CONNECTIONS,
            "ideal": items * mean / CONNECTIONS,
        }

    def capped(self) -> dict[str, Any]:
        """A server that takes four at a time and refuses the others."""
        with endpoint(_MEDIAN, 0.0, cap=4) as place:
            figures = self._evaluate(SIZES[0], place, CONNECTIONS, limit=CAPPED)
            counts = place.counts()
        return {**figures, "items": CAPPED, "bound": CAPPED * _MEDIAN / 4, **counts}

    def resume(self) -> dict[str, float]:
        """The whole command on a run that is complete, and the half of one up to its first try."""
        release, out = self._release(WHOLE, pictures=5000), self.folder / "resumed"
        shutil.rmtree(out, ignore_errors=True)
        command = (_COMMAND, "evaluate", release, "--out", out)
        with endpoint(0.005, 0.0) as place:
            options = ("--model", "openai/stub", "--base-url", place.url)
            _run(*command, *options, "--max-connections", CONNECTIONS)
            seconds = []
            for _ in range(3):
                began = time.perf_counter()
                _run(*command, *options, "--max-connections", CONNECTIONS)
                seconds.append(time.perf_counter() - began)
            attempts = out / "attempts.jsonl"
            lines = attempts.read_bytes().splitlines(keepends=True)
            attempts.write_bytes(b"".join(lines[: WHOLE // 2]))
            half = self._script("evaluate_ours.py", release, out, place.url, CONNECTIONS)
        return {"items": WHOLE, "seconds": min(seconds), "to_first": half["to_first"]}

    def peers(self, upstream: Path | None, python: Path | None) -> list[dict[str, Any]]:
        """Seconds for the same items; everything that starts and ends a program is counted."""
        release = self._release(PEER_ITEMS)
        commands = {"ours": self._command_of_ours(release, CONNECTIONS)}
        if upstream and python:
            commands[UPSTREAM] = _upstream(upstream, python, release)
        if python:
            commands[INSPECT] = _inspect(python, release)
        rows = []
        for sigma in (0.0, _SIGMA) if len(commands) > 1 else ():
            peers = [self._peer(name, command, sigma) for name, command in commands.items()]
            promised = PROMISED if sigma else {}
            rows += [
                {
                    **row,
                    "ratio": peers[0]["rate"] / row["rate"],
                    "promised": promised.get(row["name"]),
                }
                for row in peers
            ]
        return rows

    def _peer(self, name: str, command: tuple[object, ...], sigma: float) -> dict[str, Any]:
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        with endpoint(_MEDIAN, sigma) as place:
            began = time.perf_counter()
            before = os.times()
            _run(*(str(part).replace("URL", place.url) for part in command), folder=work)
            seconds, after = time.perf_counter() - began, os.times()
            requests = place.counts()["requests"]
        return {
            "name": name,
            "latency": "log-normal" if sigma else "constant",
            "items": requests,
            "seconds": seconds,
            "rate": requests / seconds,
            "cpu": sum(after[2:4]) - sum(before[2:4]),
        }

    def _command_of_ours(self, release: Path, connections: int) -> tuple[object, ...]:
        return (
            *(_COMMAND, "evaluate", release, "--out", "run"),
            *("--model", "openai/stub", "--base-url", "URL", "--max-connections", connections),
        )

    def _evaluate(
        self, items: int, place: Endpoint, connections: int, limit: int | None = None
    ) -> dict[str, Any]:
        out = self.folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        options = () if limit is None else (limit,)
        release = self._release(items)
        return self._script("evaluate_ours.py", release, out, place.url, connections, *options)

    def _script(self, name: str, *arguments: object) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(_run(sys.executable, _HERE / name, *arguments))
        return result

    def _release(self, items: int, pictures: int = 100) -> Path:
        place = self.folder / f"release-{items}-{pictures}"
        if not place.exists():
            make_release(place, items, pictures)
        return place


@dataclass(frozen=True)
class Endpoint:
    """A running endpoint."""

    url: str

    def counts(self) -> Mapping[str, float]:
        with urllib.request.urlopen(f"{self.url.removesuffix('/v1')}/counts") as reply:  # noqa: S310
            counts: Mapping[str, float] = json.load(reply)
        return counts


@contextmanager
def endpoint(median: float, sigma: float, cap: int = 0) -> Iterator[Endpoint]:
    command = [sys.executable, _HERE / "endpoint.py", str(median), str(sigma), str(cap)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None  # noqa: S101
    try:
        yield Endpoint(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
    finally:
        process.terminate()
        process.communicate()


def _best(runs: list[dict[str, Any]], items: int) -> dict[str, Any]:
    """The fastest run, with the worst lateness and memory of all."""
    same = [run for run in runs if run["items"] == items]
    worst = {name: max(run[name] for run in same) for name in ("peak", "late")}
    return {**min(same, key=lambda run: run["asking"]), **worst}


def _upstream(scripts: Path, python: Path, release: Path) -> tuple[object, ...]:
    # Its flags take the key on the command line; it keeps its cache in the current folder.
    return (
        *(python, scripts / "run_eval.py", "--model_type", "api", "--model_name", "stub"),
        *("--api_key", "none", "--base_url", "URL"),
        *("--dataset_path", release, "--output_path", "out"),
    )


def _inspect(python: Path, release: Path) -> tuple[object, ...]:
    script = _HERE / "peers" / "inspect_release.py"
    return (python, script, release, "URL", PEER_ITEMS, CONNECTIONS)


def _run(*command: object, folder: Path | None = None) -> str:
    process = subprocess.run(  # noqa: S603
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    if process.returncode:
        sys.exit(f"{command[1]} failed:\n{process.stderr[-3000:] or process.stdout[-3000:]}")
    return process.stdout.splitlines()[-1] if process.stdout else ""


if __name__ == "__main__":
    main()
