"""What was measured, row by row, kept in ``benchmarks/speed.json`` so that a part can be repeated.

Each row keeps its last two measurements of different runs: how far they differ is the noise that a
reader has to expect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from speed.duel import Measured
from speed.rows import Row

__all__ = ["Figures", "figures_of", "load", "save"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Ratios of one row; 0 where there is no such side.

    Attributes:
        when: start of the run, to the minute, in UTC.
        load: average of one minute as the row began.
        used: how many times as fast as the peer as used.
        best: the same, of the peer at its best.
        least: share of the speed of the least work.
        decoder: share of the speed of the bare decoder.
        best_wall: as ``best``, on the clock.
        spread: how far ratios of the odd and the even rounds differ at most, as a share.
        rounds: how many rounds there were.
        pictures: images of one turn.
    """

    when: str
    load: float
    used: float
    best: float
    least: float
    decoder: float
    best_wall: float
    spread: float
    rounds: int
    pictures: int


def figures_of(measured: Measured, when: str, load_average: float) -> Figures:
    """Ratios by processor time, for other programs run on the machine."""
    ratios = _ratios(measured.processor)
    halves = [
        _ratios({name: pair[half] for name, pair in measured.halves.items()}) for half in (0, 1)
    ]
    wall = _ratios(measured.wall)
    spread = max(
        abs(halves[0][name] / halves[1][name] - 1) for name in halves[0] if name != "as used"
    )
    return Figures(
        when=when,
        load=round(load_average, 1),
        used=round(ratios["as used"], 3),
        best=round(ratios.get("best", 0.0), 3),
        least=round(ratios["least"], 3),
        decoder=round(ratios.get("decoder", 0.0), 3),
        best_wall=round(wall.get("best", 0.0), 3),
        spread=round(spread, 3),
        rounds=measured.rounds,
        pictures=measured.pictures,
    )


def _ratios(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: took / seconds["ours"] for name, took in seconds.items() if name != "ours"}


def load(path: Path) -> dict[str, Any]:
    """The record, or an empty one."""
    if not path.exists():
        return {"machine": {}, "versions": {}, "rows": {}, "stages": {}}
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def save(path: Path, record: Mapping[str, Any], measured: Sequence[tuple[Row, Figures]]) -> None:
    """Put new figures into a record; those that they replace stay as the run before.

    Rows come from the file, so that two runs of different rows may go on side by side.
    """
    rows = load(path)["rows"]
    for row, figures in measured:
        earlier_figures = rows.get(row.key, [])
        rows[row.key] = [
            asdict(figures),
            *(earlier for earlier in earlier_figures if earlier["when"] != figures.when),
        ][:2]
    path.write_text(json.dumps({**record, "rows": rows}, indent=1) + "\n", encoding="utf-8")
