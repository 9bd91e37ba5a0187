"""Data tables of a report: CSV, JSON, and Parquet if pyarrow is installed.

Tidy data: one observation per row, with its run; accuracies from 0 to 1. Text that a spreadsheet
would execute as a formula is quoted in CSV and unchanged elsewhere.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medrcube.evaluate.reporting.comparable_blocks import differing_settings, ranking_blocks
from medrcube.evaluate.reporting.leaderboard import LeaderboardEntry, leaderboard
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.evaluate.statistics import published_table
from medrcube.files.atomic import replacing, write_text

__all__ = ["Row", "as_csv", "tables", "write_csv_tables", "write_tables"]

Row = dict[str, Any]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def tables(runs: Sequence[ScoredRun]) -> dict[str, list[Row]]:
    """Return the rows of each table by name; empty tables are left out.

    ``runs``, ``slices`` and ``voxels`` contain accuracies; ``forms``, the metrics of items without
    options; ``items``, the outcome of every question, without the reply text, which is in
    ``outcomes.jsonl`` of the run; ``leaderboard``, the runs and the published models, in the blocks
    of a site: only rows with the same ``ranked_with`` had the same questions; ``sets``,
    ``contrasts``, ``position``, ``credibility`` and ``chains`` exist if the runs have them.
    """
    stands = _stands(runs)
    rows_by_table = {
        "runs": [{**_run_row(run), **stands[run.label]} for run in runs],
        "slices": [row for run in runs for row in _slice_rows(run)],
        "forms": [row for run in runs for row in _form_rows(run)],
        "voxels": [{"run": run.label, **_flat(row)} for run in runs for row in _voxels(run)],
        "items": [row for run in runs for row in _item_rows(run)],
        "leaderboard": _leaderboard_rows(runs, stands),
        "contrasts": [row for run in runs for row in _contrast_rows(run, _PAIRED)],
        "position": [row for run in runs for row in _contrast_rows(run, ("position",))],
        "sets": [row for run in runs for row in _set_rows(run)],
        "credibility": [row for run in runs for row in _credibility_rows(run)],
        "chains": [row for run in runs for row in _chain_rows(run)],
    }
    return {name: _squared(rows) for name, rows in rows_by_table.items() if rows}


def write_tables(runs: Sequence[ScoredRun], folder: Path) -> list[Path]:
    """Write every table as ``NAME.csv``, ``NAME.json`` and, with pyarrow, ``NAME.parquet``.

    Returns:
        The files, in the order of writing.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    paths = []
    for name, rows in tables(runs).items():
        path = folder / name
        write_text(path.with_suffix(".csv"), as_csv(rows))
        write_text(path.with_suffix(".json"), json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        paths += [path.with_suffix(".csv"), path.with_suffix(".json")]
        paths += _write_parquet(path.with_suffix(".parquet"), rows)
    return paths


def write_csv_tables(runs: Sequence[ScoredRun], folder: Path) -> list[Path]:
    """Write every table as ``NAME.csv`` only.

    Returns:
        The files.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    paths = []
    for name, rows in tables(runs).items():
        paths.append(folder / f"{name}.csv")
        write_text(paths[-1], as_csv(rows))
    return paths


def as_csv(rows: Sequence[Row]) -> str:
    """Format rows with equal columns as CSV; text that spreadsheets would execute is quoted."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _write_parquet(path: Path, rows: Sequence[Row]) -> list[Path]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - only where it is installed
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        return []
    columns = {name: [_storable(row[name]) for row in rows] for name in rows[0]}
    with replacing(path) as temporary:
        parquet.write_table(pa.table(columns), temporary)
    return [path]


def _run_row(run: ScoredRun) -> Row:
    manifest = run.manifest
    macro = {f"macro_{name}": value for name, value in run.metrics["macro"].items()}
    plan = {
        "model": manifest["model"]["name"],
        "benchmark": run.benchmark,
        "prompt": manifest["prompt"]["version"],
        "limit": manifest["limit"],
    }
    replies = _flat({"replies": run.metrics["replies"]})
    plan["incomplete"] = run.incomplete
    return {"run": run.label, **plan, **_flat(run.total), **macro, **replies}


def _slice_rows(run: ScoredRun) -> Iterator[Row]:
    for axis, groups in run.metrics["slices"].items():
        for name, group in groups.items():
            yield {"run": run.label, "axis": axis, "group": name, **_flat(group)}


def _voxels(run: ScoredRun) -> Sequence[Mapping[str, Any]]:
    voxels: Sequence[Mapping[str, Any]] = run.metrics["voxels"]
    return voxels


def _form_rows(run: ScoredRun) -> Iterator[Row]:
    """Yield the metrics of each form without options, one row per numeric metric."""
    for form, figures in run.metrics["forms"].items():
        for name, value in _flat(figures).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                yield {"run": run.label, "form": form, "figure": name, "value": value}


def _item_rows(run: ScoredRun) -> Iterator[Row]:
    for result in run.everything:
        item, presentation = result.item, result.question.presentation
        yield {
            "run": run.label,
            "dataset": item.dataset,
            "id": item.id,
            "task": item.task.value,
            "modality": item.modality.value,
            "parts": item.parts.value,
            "visible": item.visible,
            "block": item.block,
            "condition": presentation.condition.value,
            "turn": presentation.turn,
            "epoch": presentation.epoch,
            "form": item.form,
            "key": item.right_reply,
            "answer": result.answer,
            "outcome": result.outcome.value,
            "credit": None if result.score is None else result.score.credit,
            "rule": result.rule,
            "image_sha256": result.question.image_sha256,
        }


def _stands(runs: Sequence[ScoredRun]) -> dict[str, Row]:
    """Return by label, in block order: block, differing settings and letters of a run."""
    how = differing_settings(runs)
    return {
        run.label: {
            "ranked_with": f"Asked {block.manner}" if block.manner else block.title,
            "asked_otherwise": "; ".join(how[run.label]),
            "group": letters.get(run.label, ""),
        }
        for block in ranking_blocks(runs)
        for letters in [block.letters()]
        for run in block.runs
    }


def _leaderboard_rows(runs: Sequence[ScoredRun], stands: Mapping[str, Row]) -> list[Row]:
    places = {label: place for place, label in enumerate(stands)}
    board = leaderboard(sorted(runs, key=lambda run: places[run.label]))
    printed = {"ranked_with": _PUBLISHED_DATA, "asked_otherwise": "", "group": ""}
    lines = [("run", run.label, questions, cells) for run, questions, cells in board.runs]
    lines += [("published", name, _PUBLISHED_DATA, cells) for name, cells in board.models]
    return [
        {
            "kind": kind,
            "model": name,
            "data": data,
            **(stands[name] if kind == "run" else printed),
            **{
                name: value
                for column, cell in zip(published_table.COUNTS, cells, strict=True)
                for name, value in _leaderboard_cell(column, cell)
            },
        }
        for kind, name, data, cells in lines
    ]


def _leaderboard_cell(column: str, cell: LeaderboardEntry) -> Iterator[tuple[str, float | None]]:
    low, high = cell.interval or (None, None)
    yield from ((column, cell.value), (f"{column}_low", low), (f"{column}_high", high))


def _contrast_rows(run: ScoredRun, names: Iterable[str]) -> Iterator[Row]:
    contrasts = run.metrics.get("contrasts") or {}
    for name in names:
        if name in contrasts:
            head = {"run": run.label, "contrast": name}
            whole = {"task": None, "modality": None, "parts": None}
            yield {**head, "level": "all", **whole, **_flat(contrasts[name]["global"])}
            for task, row in contrasts[name]["task"].items():
                yield {**head, "level": "task", **whole, "task": task, **_flat(row)}
            for row in contrasts[name]["voxels"]:
                yield {**head, "level": "voxel", **_flat(row)}


def _set_rows(run: ScoredRun) -> Iterator[Row]:
    sets = run.metrics["sets"]
    if sets is not None:
        beside = {"incomplete": sets["incomplete"], "lost": sets["lost"]}
        yield {"run": run.label, "task": None, **_flat(sets["global"]), **beside}
        for task, row in sets["task"].items():
            yield {"run": run.label, "task": task, **_flat(row)}


def _credibility_rows(run: ScoredRun) -> Iterator[Row]:
    credibility = run.metrics.get("credibility") or {}
    for reading in ("view_counted", "view_ignored"):
        for weighting in ("by_pair", "by_image"):
            row = credibility.get(reading, {}).get(weighting)
            if row:
                head = {"reading": reading, "weighting": weighting, "high": None, "low": None}
                yield {"run": run.label, **head, **_flat(row)}
    for row in credibility.get("by_task_pair", []):
        head = {"reading": "view_counted", "weighting": "by_pair"}
        yield {"run": run.label, **head, **_flat(row)}


def _chain_rows(run: ScoredRun) -> Iterator[Row]:
    """Yield the row of whole chains, then rows of the steps by position, level and task."""
    chains = run.metrics["chains"]
    if chains is None:
        return
    head = {"run": run.label, "axis": "chain", "name": "all"}
    yield {
        **head,
        **_flat(chains["whole"]),
        "lost": chains["lost"],
        **_flat(chains["depth"], "depth_"),
    }
    rows = [("step", str(row["step"]), row) for row in chains["steps"]]
    rows += [(axis, name, row) for axis in ("level", "task") for name, row in chains[axis].items()]
    for axis, name, row in rows:
        figures = {key: value for key, value in row.items() if key != "step" and value is not None}
        yield {"run": run.label, "axis": axis, "name": name, **_flat(figures)}


def _flat(row: Mapping[str, Any], prefix: str = "") -> Row:
    """Flatten objects to columns ``outer_inner``, intervals to ``..._low`` and ``..._high``."""
    flat: Row = {}
    for name, value in row.items():
        column = f"{prefix}{name}"
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{column}_")
        elif name.endswith(_INTERVALS):
            low, high = value or (None, None)
            flat |= {f"{column}_low": low, f"{column}_high": high}
        elif isinstance(value, list):
            flat[column] = "; ".join(map(str, value))
        else:
            flat[column] = value
    return flat


def _squared(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with equal columns, in order of first appearance."""
    columns = dict.fromkeys(column for row in rows for column in row)
    return [{column: row.get(column) for column in columns} for row in rows]


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _storable(value: object) -> object:
    """Escape lone surrogates, which replies may contain and Parquet cannot store."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


_INTERVALS = ("interval", "bounds")
_PAIRED = ("image_gain", "image_swap", "reworded", "degraded")
_PUBLISHED_DATA = "the published 7,626 questions"
