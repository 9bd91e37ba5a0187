"""Correlations of abilities across models, cell by cell of the cube.

A correlation over few models, of accuracies over few items, has two sources of uncertainty. It has
one interval for each: over models and over items, by resampling either.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

from medrcube.errors import WorkspaceError
from medrcube.evaluate.outcomes import LOST, AnswerOutcome, Result
from medrcube.evaluate.statistics.bootstrap import FEWEST_CLUSTERS, expanded_tail
from medrcube.evaluate.statistics.correlations.matrix import (
    DRAWS,
    Method,
    correlate,
    correlation_matrix,
    fisher_z,
    item_draws,
    model_draws,
    quantiles,
    seed_of_values,
)
from medrcube.evaluate.statistics.grouping import Axis, grouped
from medrcube.evaluate.statistics.intervals import SMALL
from medrcube.evaluate.statistics.published_table import COUNTS, REGIONS, models
from medrcube.evaluate.statistics.units import unit_of

if TYPE_CHECKING:
    from medrcube.evaluate.statistics.correlations.matrix import Floats

__all__ = [
    "fisher_interval",
    "pearson",
    "published_correlations",
    "shortcut_reliance",
    "slice_correlations",
]


def slice_correlations(
    runs: Mapping[str, Sequence[Result]],
    *,
    axis: Axis = "voxel",
    n_min: int = SMALL,
    method: Method = "pearson",
) -> dict[str, Any]:
    """Return the correlation, over models, of the accuracies in every pair of groups of an axis.

    Only items that every run was asked and none lost are used. Groups with fewer than ``n_min`` of
    them are left out.

    Args:
        runs: results by model name, one per item; at least three.
        axis: ``voxel`` for the published "Brain Island" analysis, or any other.
        n_min: minimum number of items in a group.
        method: correlation of accuracies, or of their ranks.

    Returns:
        ``method``; ``models``; ``items`` and ``left_out``; ``names`` of the groups with their
        ``n``; square matrices ``r``, ``p``, ``p_holm`` and ``p_bh`` (adjusted over all pairs),
        ``interval_models`` (bootstrap of models; ``None`` for fewer than ten),
        ``interval_items`` (bootstrap of units, corrected for the noise of few items) and
        ``r_corrected``, its midpoint, which that noise does not attenuate; ``None`` on the diagonal
        and if a group is the same for all models. Cells also have ``by_region``: for every pair of
        regions the mean ``r`` (by Fisher's z) over ``pairs`` of cells with its ``interval`` over
        models; for a region with itself, over pairs of its own cells.

    Raises:
        WorkspaceError: fewer than three runs, or no two groups are large enough.
    """
    if len(runs) < 3:
        raise WorkspaceError(f"{len(runs)} runs; expected at least 3 for a correlation over models")
    tables = [
        {r.item.name: r for r in results if r.outcome not in LOST} for results in runs.values()
    ]
    everything = {r.item.name for results in runs.values() for r in results}
    common = [r for name, r in tables[0].items() if all(name in table for table in tables)]
    groups = {
        key: members
        for key, members in grouped(axis, common, lambda result: result.item).items()
        if len(members) >= n_min
    }
    if len(groups) < 2:
        raise WorkspaceError(
            f"{len(groups)} groups with {n_min} items that all runs answer; expected at least 2"
        )
    right, sizes = _by_unit(groups, tables)
    accuracy = right.sum(axis=0) / sizes.sum(axis=0)[:, None]
    matrices = correlation_matrix(accuracy, method, lambda: item_draws(right, sizes))
    if axis == "voxel":
        matrices["by_region"] = _by_region(accuracy, [key[2] for key in groups], method)
    return {
        "method": method,
        "models": list(runs),
        "items": len(common),
        "left_out": len(everything) - len(common),
        "names": [list(key) for key in groups],
        "n": [len(members) for members in groups.values()],
        **matrices,
    }


def published_correlations(
    columns: Sequence[str] = tuple(REGIONS), method: Method = "pearson"
) -> dict[str, Any]:
    """Return the same for columns of the published table, with known misprints corrected.

    Its items are unavailable: the interval over items draws each count from its binomial
    distribution, as if no two columns and no two models shared an item.
    """
    import numpy as np  # noqa: PLC0415

    sizes = np.array([COUNTS[column] for column in columns])[:, None]
    accuracy = np.array([[row.accuracy(column) for row in models()] for column in columns])

    def draws() -> Floats:
        rng = np.random.default_rng(seed_of_values(accuracy))
        counts = rng.binomial(sizes, accuracy, size=(DRAWS, *accuracy.shape))
        return np.asarray(counts / sizes, dtype=np.float64)

    return {
        "method": method,
        "models": [row.model for row in models()],
        "names": [[column] for column in columns],
        "n": [COUNTS[column] for column in columns],
        **correlation_matrix(accuracy, method, draws),
    }


def pearson(first: Sequence[float], second: Sequence[float]) -> dict[str, Any]:
    """Return Pearson's correlation of two lists, one value per model.

    Returns:
        ``n``; ``r``; two-sided ``p`` by Student's t; ``fisher_interval``, 95 % by Fisher's z;
        ``bootstrap_interval``, over models. ``None`` if undefined because of too few models (3, 3,
        4 and 10 are needed) or a constant list.
    """
    import numpy as np  # noqa: PLC0415

    n = len(first)
    values = np.array([first, second], dtype=np.float64)
    if n < 3 or np.ptp(values, axis=1).min() == 0:
        return {"n": n, "r": None, "p": None, "fisher_interval": None, "bootstrap_interval": None}
    matrices = correlation_matrix(values, "pearson", None)
    r = matrices["r"][0][1]
    return {
        "n": n,
        "r": r,
        "p": matrices["p"][0][1],
        "fisher_interval": fisher_interval(r, n),
        "bootstrap_interval": matrices["interval_models"][0][1],
    }


def fisher_interval(r: float, n: int) -> list[float] | None:
    """Return the 95 % interval of a correlation of ``n`` pairs (Fisher, Metron 1921;1:3-32)."""
    if n < 4 or abs(r) >= 1:
        return None
    centre, half = math.atanh(r), NormalDist().inv_cdf(0.975) / math.sqrt(n - 3)
    return [math.tanh(centre - half), math.tanh(centre + half)]


def shortcut_reliance(
    runs: Mapping[str, Mapping[str, Any]],
    reading: Literal["view_counted", "view_ignored"] = "view_counted",
) -> dict[str, Any]:
    """Return the correlation of diagnostic accuracy with shortcut probability over runs.

    Args:
        runs: content of ``metrics.json`` by name of the model.
        reading: which pairs count, see ``credibility``.

    Returns:
        ``points``, for each run that has both its ``high_accuracy`` and its
        ``shortcut_probability``, with ``independent_shortcut`` and ``grounding``; ``published``,
        the correlation of the first two, which upstream reports as 0.693 over 33 models; and
        ``grounding``, that of high accuracy with grounding. The first rises with accuracy even
        if diagnosis has nothing to do with perception, the second does not.
    """
    points = []
    for name, metrics in runs.items():
        high = metrics["slices"]["level"].get("high", {}).get("accuracy_without_failures")
        row = metrics["credibility"][reading]["by_pair"]
        shortcut = row["shortcut_probability"]["value"]
        if high is not None and shortcut is not None:
            points.append(
                {
                    "model": name,
                    "high_accuracy": high,
                    "shortcut_probability": shortcut,
                    "independent_shortcut": row["independent_shortcut"],
                    "grounding": row["grounding"]["value"],
                }
            )
    grounded = [point for point in points if point["grounding"] is not None]
    return {
        "points": points,
        "published": pearson(
            [point["high_accuracy"] for point in points],
            [point["shortcut_probability"] for point in points],
        ),
        "grounding": pearson(
            [point["high_accuracy"] for point in grounded],
            [point["grounding"] for point in grounded],
        ),
    }


def _by_unit(
    groups: Mapping[tuple[str, ...], Sequence[Result]], tables: Sequence[Mapping[str, Result]]
) -> tuple[Floats, Floats]:
    """Return correct answers, shape (units, groups, models), and items, shape (units, groups)."""
    import numpy as np  # noqa: PLC0415

    units = {unit_of(result) for members in groups.values() for result in members}
    place = {name: index for index, name in enumerate(sorted(units))}
    right = np.zeros((len(place), len(groups), len(tables)))
    sizes = np.zeros((len(place), len(groups)))
    for column, members in enumerate(groups.values()):
        for result in members:
            row = place[unit_of(result)]
            sizes[row, column] += 1
            for model, table in enumerate(tables):
                right[row, column, model] += (
                    table[result.item.name].outcome is AnswerOutcome.CORRECT
                )
    return right, sizes


def _by_region(accuracy: Floats, regions: Sequence[str], method: Method) -> list[dict[str, Any]]:
    import numpy as np  # noqa: PLC0415

    z = fisher_z(correlate(accuracy, method))
    z_draws = fisher_z(model_draws(accuracy, method))
    enough = accuracy.shape[1] >= FEWEST_CLUSTERS
    tail = expanded_tail(accuracy.shape[1])
    rows = []
    for first, second in itertools.combinations_with_replacement(sorted(set(regions)), 2):
        pairs = [
            (i, j)
            for i, j in itertools.combinations(range(len(regions)), 2)
            if {regions[i], regions[j]} == {first, second} and math.isfinite(z[i, j])
        ]
        if not pairs:
            continue
        index = tuple(np.array(pairs).T)
        mean = float(np.tanh(z[index].mean()))
        means = z_draws[:, index[0], index[1]].mean(axis=1)
        low, high = np.tanh(quantiles(means, tail, 1 - tail))
        rows.append(
            {
                "first": first,
                "second": second,
                "pairs": len(pairs),
                "r": mean,
                "interval": [float(low), float(high)] if enough and low < high else None,
            }
        )
    return rows
