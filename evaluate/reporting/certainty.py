"""How sure a number of a report is, in words: its interval with its units, or why it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medrcube.evaluate.statistics.units import units_told


def certainty(row: Mapping[str, Any]) -> str:
    """Such as ``95 % interval 40.1-60.2, 31 patients`` or ``no interval: fewer than 5 units``."""
    units = units_told(row["unit_kinds"])
    if row["interval"] is None:
        return f"no interval: {row['interval_reason']} ({units})"
    return f"95 % interval {span(row['interval'])}, {units}"


def span(interval: Sequence[float] | None) -> str:
    """An interval of shares in per cent; a dash where there is none."""
    if interval is None:
        return "\u2013"
    return f"{100 * interval[0]:.1f}\u2013{100 * interval[1]:.1f}"
