"""How fast images are made, in one table, and what whole stages cost: ``make bench``.

Usage: ``python benchmarks/speed_table.py [--only TEXT ...] [--seconds N] [--no-stages]``. Writes
``docs/reference/performance.md`` from ``benchmarks/speed.json``, which keeps each row of the last
runs: a run of some rows leaves the others as they are. Data and the programs that ours is compared
with go to a cache folder outside the repository (``MEDRCUBE_BENCH`` names another one); once they
are there, no network is needed. ``MEDRCUBE_SHARED`` names the folder of real samples.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import machine
from data import cache_folder, make_once
from environments import ENVIRONMENTS, EnvironmentFailedError, python_of, versions_of
from speed.duel import SideFailedError, measure_row
from speed.page import page_of
from speed.record import figures_of, load, save
from speed.rows import ROWS, Row, real_rows

_HERE = Path(__file__).resolve().parent
_PAGE = _HERE.parent / "docs" / "reference" / "performance.md"
_RECORD = _HERE / "speed.json"
_PICTURES = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="rows whose names hold this")
    parser.add_argument("--seconds", type=float, default=8.0, help="of processor time for a row")
    parser.add_argument("--no-stages", action="store_true", help="keep the stages of the last run")
    parser.add_argument("--no-rows", action="store_true", help="keep the rows of the last run")
    parser.add_argument("--page", type=Path, default=_PAGE, help="where the page goes")
    args = parser.parse_args()
    folder, record = cache_folder(), load(_RECORD)
    rows = [] if args.no_rows else [row for row in (*ROWS, *real_rows()) if _is_asked(row, args)]
    if rows:
        pythons = _environments({row.peer.environment for row in rows}, folder)
        record["machine"] = machine.describe()
        record["versions"] = {
            "ours": versions_of(Path(sys.executable), machine.OWN),
            **record["versions"],
            **{name: versions_of(pythons[name], ENVIRONMENTS[name]) for name in pythons},
        }
        _measure(rows, folder, pythons, args.seconds, record)
    if not args.no_stages and not args.only:
        record["stages"] = _stages(folder)
    save(_RECORD, record, [])
    args.page.write_text(page_of(record, (*ROWS, *real_rows())), encoding="utf-8")


def _is_asked(row: Row, args: argparse.Namespace) -> bool:
    return not args.only or any(text in row.key for text in args.only)


def _environments(names: set[str], folder: Path) -> dict[str, Path]:
    """The Python of every environment that could be made."""
    pythons = {}
    for name in sorted(names):
        try:
            pythons[name] = python_of(name, folder / "env")
        except EnvironmentFailedError as error:
            _say(f"left out: {name}: {error}")
    return pythons


def _measure(
    rows: list[Row],
    folder: Path,
    pythons: dict[str, Path],
    seconds: float,
    record: dict[str, Any],
) -> None:
    """Each row is written down as soon as it is there, so that a run may be ended at any time."""
    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
    for number, row in enumerate(rows, 1):
        if row.peer.environment not in pythons:
            continue
        if row.write is not None:
            make_once(folder / "data" / row.data.partition("/")[0], row.write)
        load_average = os.getloadavg()[0]
        try:
            measured = measure_row(row, folder, pythons, seconds)
        except SideFailedError as error:
            _say(f"{number} of {len(rows)}: {row.key}: left out: {error}")
            continue
        figures = figures_of(measured, when, load_average)
        save(_RECORD, record, [(row, figures)])
        record |= load(_RECORD)
        _say(
            f"{number} of {len(rows)}: {row.key}: {figures.used:.2f} {figures.best:.2f} "
            f"{figures.least:.2f} {figures.decoder:.2f}"
        )


def _stages(folder: Path) -> dict[str, Any]:
    _say(f"build, audit, release, validate and reconstruct with {_PICTURES} images")
    command = [sys.executable, str(_HERE / "stages.py"), str(folder / "stages"), str(_PICTURES)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if process.returncode:
        sys.exit(f"stages.py failed:\n{process.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return result


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
