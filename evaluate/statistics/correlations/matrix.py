"""Correlation matrices across models, with p values and intervals."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from medrcube.evaluate.statistics.bootstrap import FEWEST_CLUSTERS, expanded_tail
from medrcube.evaluate.statistics.paired_tests import benjamini_hochberg, holm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "DRAWS",
    "Method",
    "correlate",
    "correlation_matrix",
    "fisher_z",
    "item_draws",
    "model_draws",
    "quantiles",
    "seed_of_values",
]

Method = Literal["pearson", "spearman"]

DRAWS = 1000
"""Number of bootstrap draws per interval."""

_CHUNK = 50


def correlation_matrix(
    accuracy: Floats, method: Method, drawn_items: Callable[[], Floats] | None
) -> dict[str, Any]:
    """Return square matrices over groups, as described in ``slice_correlations``.

    Args:
        accuracy: of shape (groups, models), at least three models.
        method: correlation of accuracies, or of their ranks.
        drawn_items: returns accuracies of shape (draws, groups, models) for resampled items;
            ``None`` for no interval over items.
    """
    import numpy as np  # noqa: PLC0415

    r = correlate(accuracy, method)
    count = len(r)
    pairs = list(itertools.combinations(range(count), 2))
    p = _p_values(r, accuracy.shape[1])
    tested = [(i, j) for i, j in pairs if math.isfinite(p[i, j])]
    listed = [float(p[i, j]) for i, j in tested]
    matrices: dict[str, Any] = {"r": _square(count, {(i, j): float(r[i, j]) for i, j in tested})}
    matrices["p"] = _square(count, dict(zip(tested, listed, strict=True)))
    matrices["p_holm"] = _square(count, dict(zip(tested, holm(listed), strict=True)))
    matrices["p_bh"] = _square(count, dict(zip(tested, benjamini_hochberg(listed), strict=True)))
    tail = expanded_tail(accuracy.shape[1])
    low, high = quantiles(model_draws(accuracy, method), tail, 1 - tail)
    enough = accuracy.shape[1] >= FEWEST_CLUSTERS
    matrices["interval_models"] = _intervals(low, high, tested if enough else [])
    if drawn_items is not None:
        # Basic bootstrap on Fisher's scale (Davison and Hinkley, 1997, 5.2): resampling items adds
        # their noise a second time, and noise attenuates a correlation.
        z, z_draws = fisher_z(r), fisher_z(correlate(drawn_items(), method))
        low, middle, high = (
            np.tanh(2 * z - q) for q in quantiles(z_draws, 0.025, 0.5, 0.975)[::-1]
        )
        usable = [(i, j) for i, j in tested if math.isfinite(middle[i, j])]
        matrices["r_corrected"] = _square(count, {(i, j): float(middle[i, j]) for i, j in usable})
        matrices["interval_items"] = _intervals(low, high, tested)
    return matrices


def correlate(values: Floats, method: Method) -> Floats:
    """Correlate values of shape (..., groups, models); returns shape (..., groups, groups)."""
    import numpy as np  # noqa: PLC0415

    if method == "spearman":
        ranks = import_module("scipy.stats").rankdata(values, axis=-1)
        values = np.asarray(ranks, dtype=np.float64)
    centred = values - values.mean(axis=-1, keepdims=True)
    norm = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    unit = np.divide(centred, norm, out=np.full_like(centred, np.nan), where=norm > 1e-12)
    return np.asarray(np.clip(unit @ np.swapaxes(unit, -1, -2), -1, 1), dtype=np.float64)


def fisher_z(r: Floats) -> Floats:
    """Return Fisher's z of correlations; finite for 1 and -1 too."""
    import numpy as np  # noqa: PLC0415

    return np.asarray(np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9)), dtype=np.float64)


def model_draws(accuracy: Floats, method: Method) -> Floats:
    """Return correlations of shape (draws, groups, groups), models drawn with replacement."""
    import numpy as np  # noqa: PLC0415

    count = accuracy.shape[1]
    indexes = np.random.default_rng(seed_of_values(accuracy)).integers(
        0, count, size=(DRAWS, count)
    )
    return correlate(np.moveaxis(accuracy[:, indexes], 0, 1), method)


def item_draws(right: Floats, sizes: Floats) -> Floats:
    """Return accuracies of shape (draws, groups, models), images drawn with replacement.

    Args:
        right: numbers of right answers, of shape (pictures, groups, models).
        sizes: numbers of items, of shape (pictures, groups).
    """
    import numpy as np  # noqa: PLC0415

    pictures, groups, count = right.shape
    rng = np.random.default_rng(seed_of_values(right))
    flat = right.reshape(pictures, groups * count)
    parts = []
    for _ in range(DRAWS // _CHUNK):
        weights = rng.multinomial(pictures, np.full(pictures, 1 / pictures), size=_CHUNK)
        top = (weights @ flat).reshape(_CHUNK, groups, count)
        bottom = np.broadcast_to((weights @ sizes)[:, :, None], top.shape)
        parts.append(np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0))
    return np.concatenate(parts)


def quantiles(draws: Floats, *shares: float) -> list[Any]:
    """Return quantiles along the first axis; undefined draws are ignored up to 5 %, else NaN."""
    import numpy as np  # noqa: PLC0415

    lost = np.isnan(draws)
    values = np.nanquantile(np.where(lost.all(axis=0), 0.0, draws), shares, axis=0)
    return [np.where(lost.mean(axis=0) > 0.05, np.nan, quantile) for quantile in values]


def seed_of_values(values: Floats) -> int:
    """Return a seed derived from the values."""
    return int.from_bytes(hashlib.sha256(values.tobytes()).digest()[:8])


def _p_values(r: Floats, n: int) -> Floats:
    import numpy as np  # noqa: PLC0415

    spread = np.maximum(1 - r**2, 1e-300)
    t = np.abs(r) * np.sqrt((n - 2) / spread)
    return np.asarray(2 * import_module("scipy.special").stdtr(n - 2, -t), dtype=np.float64)


def _intervals(
    low: Floats, high: Floats, tested: Sequence[tuple[int, int]]
) -> list[list[list[float] | None]]:
    values = {
        (i, j): [float(low[i, j]), float(high[i, j])]
        for i, j in tested
        if math.isfinite(low[i, j]) and math.isfinite(high[i, j])
    }
    return _square(len(low), values)


def _square(count: int, values: Mapping[tuple[int, int], Any]) -> list[list[Any]]:
    return [
        [values.get((min(i, j), max(i, j))) if i != j else None for j in range(count)]
        for i in range(count)
    ]
