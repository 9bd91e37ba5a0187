"""Sides of one row measured in turn, each in a process of its own that stays for all its runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from speed.rows import Row

__all__ = ["Measured", "SideFailedError", "measure_row"]

_HERE = Path(__file__).resolve().parent
_LEAST_SECONDS = 0.1
"""Of one run: the work is repeated until it takes that long."""
_MOST_BATCH = 20
_LONG = 3.0
"""Seconds of a peer as used, beyond which one run of it has to do."""
_FEWEST, _MOST = 5, 20
"""Rounds, in each of which every side runs once."""


class SideFailedError(Exception):
    """A side ended without an answer, or made another number of images than ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one row took: seconds of each side, of processor time and on the clock.

    Attributes:
        processor: side to the least of all rounds.
        wall: likewise.
        halves: side to the least processor time of the odd and of the even rounds.
        peak: side to the largest memory of its process, in bytes.
        rounds: how many there were.
        pictures: images of one turn.
    """

    processor: Mapping[str, float]
    wall: Mapping[str, float]
    halves: Mapping[str, tuple[float, float]]
    peak: Mapping[str, int]
    rounds: int
    pictures: int


def measure_row(row: Row, folder: Path, pythons: Mapping[str, Path], seconds: float) -> Measured:
    """Run ours, the peer as used and at its best, and the least work in turn.

    Args:
        row: what is measured.
        folder: of the bench; holds data and what the sides write.
        pythons: the Python of each environment.
        seconds: of processor time, all sides together, after which no further round begins.

    Raises:
        SideFailedError: a side cannot do it.
    """
    data, out = folder / "data" / row.data, folder / f"out-{os.getpid()}"
    commands = _commands(row, data, out, pythons)
    runs_by_side: dict[str, list[Mapping[str, float]]] = {name: [] for name in commands}
    with _Sides(commands) as sides:
        once = {name: sides.run(name, 1) for name in commands}  # fills the caches, too
        wrong = {
            name: run["pictures"]
            for name, run in once.items()
            if run["pictures"] != once["ours"]["pictures"]
        }
        if wrong:
            raise SideFailedError(f"ours made {once['ours']['pictures']} images, others {wrong}")
        batch = max(1, min(_MOST_BATCH, int(_LEAST_SECONDS / once["ours"]["processor"])))
        while len(runs_by_side["ours"]) < _MOST:
            spent = sum(run["processor"] for runs in runs_by_side.values() for run in runs)
            if spent > seconds and len(runs_by_side["ours"]) >= _FEWEST:
                break
            for name, runs in runs_by_side.items():
                if name == "as used" and runs and runs[0]["processor"] > _LONG:
                    continue  # by far the slowest, and much slower than ours
                runs.append(sides.run(name, batch))
    shutil.rmtree(out, ignore_errors=True)
    return Measured(
        processor={name: _least(runs, "processor", batch) for name, runs in runs_by_side.items()},
        wall={name: _least(runs, "wall", batch) for name, runs in runs_by_side.items()},
        halves={
            name: (_least(runs[::2], "processor", batch), _least(runs[1::2], "processor", batch))
            for name, runs in runs_by_side.items()
            if len(runs) > 1
        },
        peak={name: int(run["peak"]) for name, run in once.items()},
        rounds=len(runs_by_side["ours"]),
        pictures=int(once["ours"]["pictures"]),
    )


def _least(runs: Sequence[Mapping[str, float]], clock: str, batch: int) -> float:
    return min(run[clock] for run in runs) / batch


def _commands(row: Row, data: Path, out: Path, pythons: Mapping[str, Path]) -> dict[str, list[str]]:
    own = sys.executable
    colour = ["--colour", row.colour] if row.colour else []
    window = ["--window", row.window, *colour]
    script = str(_HERE.parent / "peers" / row.peer.script)
    window_arguments = window if row.peer.windowed else colour
    sides = {
        "ours": [own, str(_HERE / "ours_once.py"), *window],
        "as used": [str(pythons[row.peer.environment]), script, *window_arguments],
        "least": [own, str(_HERE / "least_work.py"), *window],
    }
    if row.peer.tuned:
        sides["best"] = [*sides["as used"], "--best"]
    if row.decoder:
        sides["decoder"] = [own, str(_HERE / "least_work.py"), "--decode"]
    return {
        name: [*command[:2], str(data), str(out / name.replace(" ", "-")), *command[2:]]
        for name, command in sides.items()
    }


class _Sides:
    """Processes that wait for their turn."""

    def __init__(self, commands: Mapping[str, Sequence[str]]) -> None:
        self._processes = {
            name: subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for name, command in commands.items()
        }

    def __enter__(self) -> Self:
        try:
            for name in self._processes:
                self._answer(name)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def run(self, name: str, batch: int) -> Mapping[str, float]:
        """One run of a side."""
        pipe = self._processes[name].stdin
        if pipe is None:
            raise SideFailedError(f"{name}: has no input")
        pipe.write(f"{batch}\n")
        pipe.flush()
        answer: Mapping[str, float] = json.loads(self._answer(name))
        return answer

    def _answer(self, name: str) -> str:
        process = self._processes[name]
        lines = iter(process.stdout or ())
        line = next(lines, "")
        while line and not line.startswith(("ready", "{")):  # what a peer says for itself
            line = next(lines, "")
        if not line:
            output = process.communicate()[1].strip().splitlines()
            raise SideFailedError(f"{name}: {output[-1] if output else 'ended without a word'}")
        return line

    def _end(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.communicate()
