"""Blind priors of numbers: what passes without a look at what is to be measured.

Two readers without eyes: one who always says the number that passes most items, and one who reads
the scale bar and the size of the image, and says what things on images of that extent mostly
measure. The best constant is that of all items: where sizes are spread evenly, leaving the own item
out would always move it elsewhere, and so claim that no constant ever passes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["constant_prior", "scale_prior"]

_RIDGE = 1e-6
"""Keeps a regression solvable where images are all alike."""

Numbers = NDArray[np.float64]


def constant_prior(low: Numbers, high: Numbers) -> float:
    """Share of items that the best constant passes; no constant answer passes more.

    Args:
        low: least value that passes each of one or more items.
        high: greatest value that passes each.
    """
    # The most bands overlap where one of them begins.
    begun = np.searchsorted(np.sort(low), low, side="right")
    ended = np.searchsorted(np.sort(high), low, side="left")
    return float((begun - ended).max() / len(low))


def scale_prior(
    values: Numbers, low: Numbers, high: Numbers, seen: Numbers, patients: Sequence[str]
) -> float:
    """Share of items that a regression on what the frame of an image shows passes.

    The logarithm of the value is regressed on ``seen`` over the other patients; of the quotients of
    value and prediction the best constant is taken, so that the reader hits most items rather than
    their mean.

    Args:
        values: true values, above 0.
        low: least value that passes each.
        high: greatest value that passes each.
        seen: ``(n, k)``: for example the logarithms of the width of the image in millimetres and of
            its height over its width.
        patients: whose items they are; with fewer than ``k + 2`` there is nothing to learn from,
            and the constant alone is tried.
    """
    names, patient = np.unique(np.asarray(patients, dtype=str), return_inverse=True)
    table = np.column_stack([np.ones(len(values)), seen - seen.mean(axis=0)])
    if len(names) <= table.shape[1]:
        return constant_prior(low, high)
    logs = np.log(values)
    squares, products = table[:, :, None] * table[:, None, :], table * logs[:, None]
    own_squares = np.zeros((len(names), *squares.shape[1:]))
    own_products = np.zeros((len(names), table.shape[1]))
    np.add.at(own_squares, patient, squares)
    np.add.at(own_products, patient, products)
    rest = squares.sum(axis=0) - own_squares + _RIDGE * np.eye(table.shape[1])
    weights = np.linalg.solve(rest, (products.sum(axis=0) - own_products)[:, :, None])[:, :, 0]
    predicted = np.exp((table * weights[patient]).sum(axis=1))
    return constant_prior(low / predicted, high / predicted)
