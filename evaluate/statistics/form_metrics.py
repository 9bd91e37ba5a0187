"""Metrics of answer forms without options, in addition to the accuracy: credit and errors.

Lost replies are excluded from credit and errors, since a lost reply says nothing about the model. A
reply without an answer has credit 0, and no error.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from medrcube.evaluate.outcomes import LOST, Result, is_incomplete
from medrcube.evaluate.statistics.bootstrap import (
    RESAMPLES,
    divide_or_nan,
    percentile_interval,
    resampled,
)
from medrcube.evaluate.statistics.intervals import mean, ratio
from medrcube.evaluate.statistics.metrics import run_metrics
from medrcube.evaluate.statistics.units import unit_of
from medrcube.forms import OPEN_FORMS, form_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["IOU_BARS", "RELATIVE_BANDS", "form_metrics", "open_metrics"]

RELATIVE_BANDS = (0.1, 0.2, 0.3)
"""Relative error thresholds for which answers within them are counted."""

IOU_BARS = tuple(step / 10 for step in range(1, 10))
"""IoU thresholds for which boxes at or above them are counted."""

_CHUNK = 100


def form_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return ``open_metrics`` of each form without options, by name, in a fixed order."""
    by_form = {
        name: [result for result in results if result.item.form == name] for name in OPEN_FORMS
    }
    return {name: open_metrics(group) for name, group in by_form.items() if group}


def open_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return the metrics of items of one form.

    Returns:
        A row of ``metrics.group_metrics``, whose accuracy is the share that passes; ``replies``,
        their number; ``no_answer``, the share of them without an answer; ``credit``, their mean
        credit, with ``credit_interval`` by bootstrap of units; ``slips``, wrong answers that would
        pass under another convention, by name: diagnostic, never counted; and form-specific values:

        - ``number``: ``abs_log_ratio``, median of |ln(answer / truth)|, and ``log_ratio``, the
          signed median (bias), each with its interval and the number ``positive`` of answers above
          0 that it is based on; ``within``, the share of replies within relative errors;
          ``difference``, median signed difference by unit.
        - ``point``: ``distance``, median distance from the region in pixels.
        - ``box``: ``iou_curve``, the share of replies that reach an overlap.
        - ``order``: ``tau``, mean of Kendall's tau of the answers.
        - ``pair``: ``one_right``, the share of replies with one of two right; ``yes_share``, the
          share of yes among the answers.
    """
    total = run_metrics(results)
    replies = [result for result in results if result.outcome not in LOST]
    # The replies of an incomplete run are not a random sample of the items.
    replied = [] if is_incomplete(total) else replies
    scores = [(result, score) for result in replied if (score := result.score) is not None]
    earned = [(r, 0.0 if r.score is None else r.score.credit) for r in replied]
    slips: Counter[str] = Counter()
    for result, _ in scores:
        target, answer = result.item.target, result.parsed_answer
        if target is not None:
            slips.update(form_of(target).slips(answer, target))
    errors = [(result, score.errors) for result, score in scores]
    return {
        **total,
        "replies": len(replies),
        "no_answer": ratio(len(replied) - len(scores), len(replied)),
        "credit": mean(credit for _, credit in earned),
        "credit_interval": _mean_interval(earned),
        "slips": dict(sorted(slips.items())),
        **_ADDED[results[0].item.form](replied, errors),
    }


_Errors = Sequence[tuple[Result, Mapping[str, float]]]


def _number(replied: Sequence[Result], errors: _Errors) -> dict[str, Any]:
    logs = [(result, each["log_ratio"]) for result, each in errors if "log_ratio" in each]
    sizes = [(result, abs(value)) for result, value in logs]
    by_unit: dict[str, list[float]] = {}
    relative = []
    for result, each in errors:
        target: Any = result.item.target
        by_unit.setdefault(target.ask.unit, []).append(each["difference"])
        relative.append(abs(each["difference"]) / target.value)
    return {
        "positive": len(logs),
        "abs_log_ratio": _median(sizes),
        "abs_log_ratio_interval": _median_interval(sizes),
        "log_ratio": _median(logs),
        "log_ratio_interval": _median_interval(logs),
        "within": {
            f"{band:.0%}": ratio(sum(error <= band for error in relative), len(replied))
            for band in RELATIVE_BANDS
        },
        "difference": {
            unit: {"n": len(values), "median": _middle(values)}
            for unit, values in sorted(by_unit.items())
        },
    }


def _point(_replied: Sequence[Result], errors: _Errors) -> dict[str, Any]:
    distances = [(result, each["distance"]) for result, each in errors if "distance" in each]
    return {
        "inside_image": len(distances),
        "distance": _median(distances),
        "distance_interval": _median_interval(distances),
    }


def _box(replied: Sequence[Result], errors: _Errors) -> dict[str, Any]:
    overlaps = [each.get("iou", 0.0) for _, each in errors]
    return {
        "iou_curve": {
            f"{bar:.1f}": ratio(sum(overlap >= bar for overlap in overlaps), len(replied))
            for bar in IOU_BARS
        }
    }


def _order(_replied: Sequence[Result], errors: _Errors) -> dict[str, Any]:
    return {"tau": mean(each["tau"] for _, each in errors)}


def _pair(replied: Sequence[Result], errors: _Errors) -> dict[str, Any]:
    return {
        "one_right": ratio(sum(each["wrong"] == 1 for _, each in errors), len(replied)),
        "yes_share": ratio(int(sum(each["yes"] for _, each in errors)), 2 * len(errors)),
    }


_ADDED: Mapping[str, Callable[[Sequence[Result], _Errors], dict[str, Any]]] = {
    "number": _number,
    "point": _point,
    "box": _box,
    "order": _order,
    "pair": _pair,
}


def _mean_interval(values: Sequence[tuple[Result, float]]) -> list[float] | None:
    """Return the 95 % interval of a mean, by bootstrap of whole units."""
    units: dict[str, list[float]] = {}
    for result, value in values:
        units.setdefault(unit_of(result), []).append(value)
    if not units:
        return None
    draws = resampled([(sum(each), len(each)) for each in units.values()])
    interval = percentile_interval(divide_or_nan(draws[:, 0], draws[:, 1]), len(units))
    return None if interval is None else list(interval)


def _median(values: Sequence[tuple[Result, float]]) -> float | None:
    return _middle([value for _, value in values])


def _middle(values: Sequence[float]) -> float | None:
    """Return the median; the mean of the two middle values for an even number of values."""
    if not values:
        return None
    ranked = sorted(values)
    return (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2


def _median_interval(values: Sequence[tuple[Result, float]]) -> list[float] | None:
    """Return the 95 % interval of a median, by bootstrap of whole units."""
    import numpy as np  # noqa: PLC0415 - an import that only scoring pays

    if not values:
        return None
    ranked = sorted((value, unit_of(result)) for result, value in values)
    names = sorted({unit for _, unit in ranked})
    place = {unit: index for index, unit in enumerate(names)}
    units = np.array([place[unit] for _, unit in ranked])
    numbers = np.array([value for value, _ in ranked])
    seed = hashlib.sha256(repr([(value, place[unit]) for value, unit in ranked]).encode()).digest()
    draw = np.random.default_rng(int.from_bytes(seed[:8]))
    medians: list[NDArray[np.float64]] = []
    for start in range(0, RESAMPLES, _CHUNK):
        size = min(_CHUNK, RESAMPLES - start)
        counts = draw.multinomial(len(names), [1 / len(names)] * len(names), size=size)
        medians.append(_weighted_medians(numbers, counts[:, units]))
    interval = percentile_interval(np.concatenate(medians), len(names))
    return None if interval is None else list(interval)


def _weighted_medians(
    numbers: NDArray[np.float64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the median of sorted numbers, weighted by each row of counts."""
    import numpy as np  # noqa: PLC0415

    cumulated = np.cumsum(counts, axis=1)
    totals = cumulated[:, -1]
    low = np.array(
        [np.searchsorted(row, (n + 1) // 2) for row, n in zip(cumulated, totals, strict=True)]
    )
    high = np.array(
        [np.searchsorted(row, n // 2 + 1) for row, n in zip(cumulated, totals, strict=True)]
    )
    return np.asarray((numbers[low] + numbers[high]) / 2, dtype=np.float64)
