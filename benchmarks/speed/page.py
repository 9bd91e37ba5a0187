"""The page on performance, from the record of what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from medrcube.templates import render_card
from speed.rows import Row

__all__ = ["page_of"]


def page_of(record: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """The page in Markdown.

    Args:
        record: as ``speed.record`` keeps it.
        rows: in the order of the table; those without figures are left out.
    """
    measured = [(row, record["rows"][row.key]) for row in rows if row.key in record["rows"]]
    lines = [_line(row, *figures[:1]) for row, figures in measured]
    repeated = [list(_changes(*figures)) for _, figures in measured if len(figures) > 1]
    changes = [change for row in repeated for change in row]
    return render_card(
        "performance.md",
        machine=record["machine"],
        versions=record["versions"],
        rows=lines,
        spans=list(_spans(lines)),
        missing=[row.key for row in rows if row.key not in record["rows"]],
        misses=[(line["name"], miss) for line in lines for miss in line["misses"]],
        loads=sorted(figures[0]["load"] for _, figures in measured),
        runs=sorted({figures[0]["when"] for _, figures in measured}),
        spread=median(figures[0]["spread"] for _, figures in measured) if measured else 0,
        most_spread=max((figures[0]["spread"] for _, figures in measured), default=0),
        repeated=len(repeated),
        change=median(changes) if changes else 0,
        most_change=max(changes, default=0),
        before=sorted({figures[1]["when"] for _, figures in measured if len(figures) > 1}),
        stages=record["stages"],
    )


def _spans(lines: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Least and largest ratio against each peer."""
    for peer in dict.fromkeys(line["peer"] for line in lines):
        rows = [line for line in lines if line["peer"] == peer]
        used, best = ([row[name] for row in rows if row[name]] for name in ("used", "best"))
        yield {
            "peer": peer,
            "count": len(rows),
            "used": (min(used), max(used)),
            "best": (min(best), max(best)) if best else (),
        }


def _line(row: Row, figures: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": row.name,
        "peer": row.peer.name,
        **figures,
        "best_text": _ratio_text(figures["best"], row.best),
        "least_text": _percent_text(figures["least"], row.limit),
        "decoder_text": _percent_text(figures["decoder"], row.decoder),
        "misses": list(_misses(row, figures)),
    }


def _ratio_text(ratio: float, bar: float) -> str:
    return _figure_text(ratio, bar, 2) if ratio else ""


def _percent_text(share: float, bar: float) -> str:
    return f"{_figure_text(100 * share, 100 * bar, 0)} %" if share else ""


def _figure_text(figure: float, bar: float, digits: int) -> str:
    """The figure with ``digits`` decimals, or as many as show that it is below ``bar``."""
    while figure < bar <= float(f"{figure:.{digits}f}"):
        digits += 1
    return f"{figure:.{digits}f}"


def _misses(row: Row, figures: Mapping[str, Any]) -> Iterator[str]:
    """What was wanted and is not there."""
    for name, bar in (("best", row.best), ("least", row.limit), ("decoder", row.decoder)):
        if figures[name] and figures[name] < bar:
            yield f"{_WORDS[name]} {_figure_text(figures[name], bar, 2)}, wanted {bar:.2f}"


_WORDS = {
    "best": "against the peer at its best",
    "least": "of the least work",
    "decoder": "of the bare decoder",
}


def _changes(now: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[float]:
    """How far the ratios of two runs differ, as shares."""
    for name in _WORDS:
        if now[name] and before[name]:
            yield abs(now[name] / before[name] - 1)
