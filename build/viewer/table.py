"""Table of viewer copies (``copies.jsonl``), and its damaged lines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.build.viewer.case_copies import DIGEST

__all__ = ["TABLE", "CopyTable", "display_facts", "read_copies"]

TABLE = "copies.jsonl"
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyTable:
    """The table of copies.

    Attributes:
        rows: by image id.
        damaged: number of invalid lines, which were left out.
    """

    rows: Mapping[str, Mapping[str, Any]]
    damaged: int


def read_copies(folder: Path) -> CopyTable:
    """Read the table of copies; a table that cannot be opened counts as a damaged line."""
    rows: dict[str, Mapping[str, Any]] = {}
    damaged = 0
    try:
        lines = (folder / TABLE).read_bytes().splitlines()
    except OSError as error:
        return CopyTable(rows={}, damaged=int(not isinstance(error, FileNotFoundError)))
    for line in lines:
        row = _row(line)
        if row is None:
            damaged += 1
        else:
            rows[str(row["sample"])] = row
    return CopyTable(rows=rows, damaged=damaged)


def display_facts(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page displays of a copy.

    Raises:
        KeyError, TypeError, ValueError: the row is damaged.
    """
    facts: dict[str, Any] = {
        "slices": [str(name) for name in row["slices"]],
        "own": int(row["own"]),
        "slope": _number(row["slope"]),
        "intercept": _number(row["intercept"]),
        "exact": bool(row["exact"]),
        "unit": "HU" if row["unit"] == "HU" else "",
        "inverted": bool(row["inverted"]),
        "projection": bool(row["projection"]),
        "window": [_number(end) for end in row["window"]],
        "place": [_number(part) for part in row["place"]],
        "columns": int(row["columns"]),
        "spacing": row["spacing"] and [_number(size) for size in row["spacing"]],
        "presets": [
            [str(name)[:_LONGEST_NAME], _number(low), _number(high)]
            for name, low, high in row["presets"]
        ],
    }
    if not 0 <= facts["own"] < len(facts["slices"]):
        raise ValueError(facts["own"])
    return facts


def _row(line: bytes) -> Mapping[str, Any] | None:
    """Parse a line of the table; ``None`` if it is damaged."""
    try:
        row = json.loads(line)
        sound = "sample" in row and all(DIGEST.fullmatch(name) for name in row["slices"])
        if row["slices"]:
            display_facts(row)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    return row if sound else None


def _number(value: object) -> float:
    number = float(str(value))
    if not math.isfinite(number):
        raise ValueError(value)
    return number
