"""Report section on answer forms without options: one table per form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.evaluate.reporting.interval_text import accuracy_text
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.forms import OPEN_FORMS

__all__ = ["FormPanel", "form_panels"]

Row = Mapping[str, Any]
_NONE = "\u2013"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPanel:
    """Table of one form.

    Attributes:
        name: name of the form.
        bar: the bar for passing.
        credit: how credit is measured.
        columns: (heading, explanation) of the form's own columns.
        rows: (run, row of ``form_metrics.open_metrics``, accuracy, the form's own cells).
        slips: (run, answers that would pass under another convention, by name).
    """

    name: str
    bar: str
    credit: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[tuple[ScoredRun, Row, str, Sequence[str]]]
    slips: Sequence[tuple[ScoredRun, Mapping[str, int]]]


def form_panels(runs: Sequence[ScoredRun]) -> list[FormPanel]:
    """Return panels of the forms that some run asked; none if every item has options."""
    panels = []
    for name in OPEN_FORMS:
        rows = [(run, row) for run in runs if (row := run.metrics["forms"].get(name))]
        if rows:
            panels.append(_panel(name, rows))
    return panels


def _panel(name: str, rows: Sequence[tuple[ScoredRun, Row]]) -> FormPanel:
    bar, credit, columns = _WORDS[name]
    return FormPanel(
        name=name,
        bar=bar,
        credit=credit,
        columns=columns,
        rows=[(run, row, accuracy_text(row), _CELLS[name](row)) for run, row in rows],
        slips=[(run, row["slips"]) for run, row in rows if row["slips"]],
    )


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.1f}"


def _figure(value: float | None, interval: Sequence[float] | None = None, digits: int = 2) -> str:
    if value is None:
        return _NONE
    text = f"{value:.{digits}f}"
    if interval is not None:
        text += f" ({interval[0]:.{digits}f} to {interval[1]:.{digits}f})"
    return text.replace("-", "\u2212")


def _number(row: Row) -> list[str]:
    return [
        _figure(row["abs_log_ratio"], row["abs_log_ratio_interval"]),
        _figure(row["log_ratio"], row["log_ratio_interval"]),
        " / ".join(_percent(share) for share in row["within"].values()),
    ]


def _point(row: Row) -> list[str]:
    return [_figure(row["distance"], row["distance_interval"], 0)]


def _box(row: Row) -> list[str]:
    return [_percent(row["iou_curve"][bar]) for bar in ("0.1", "0.3", "0.5", "0.7", "0.9")]


def _order(row: Row) -> list[str]:
    return [_figure(row["tau"])]


def _pair(row: Row) -> list[str]:
    return [_percent(row["one_right"]), _percent(row["yes_share"])]


_CELLS = {"number": _number, "point": _point, "box": _box, "order": _order, "pair": _pair}
_WORDS: Mapping[str, tuple[str, str, Sequence[tuple[str, str]]]] = {
    "number": (
        "within the bounds of the item",
        "mean relative accuracy: the share of thresholds from 50 to 95 % that the answer meets",
        (
            ("|ln ratio|", "median of |ln(answer / truth)|, with a 95 % interval by patient"),
            ("ln ratio", "median of ln(answer / truth): below 0 the answers are too small"),
            (
                "within 10 / 20 / 30 %",
                "share of the replies with an error of at most 10, 20 and 30 % of the truth",
            ),
        ),
    ),
    "point": (
        "inside the region or its margin",
        "1 if passed, else 0",
        (("distance", "median distance from the region in pixels, with a 95 % interval"),),
    ),
    "box": (
        "an overlap (intersection over union) of at least the item's bar",
        "the overlap",
        tuple(
            (f"IoU {bar}", f"replies with an overlap of at least {bar}")
            for bar in (0.1, 0.3, 0.5, 0.7, 0.9)
        ),
    ),
    "order": (
        "the exact order",
        "the share of pairs in the right order",
        (("tau", "mean of Kendall's tau of the answers"),),
    ),
    "pair": (
        "both answers right",
        "the share of right answers",
        (
            ("one right", "replies with one of two right"),
            ("yes", "share of yes among the answers"),
        ),
    ),
}
