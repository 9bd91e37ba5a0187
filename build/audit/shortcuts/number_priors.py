"""Blind priors of numbers: what passes without looking at the structure to be measured.

Two blind readers: one always answers the number that passes most items, and one reads the scale bar
and the size of the image, and answers what structures on images of that extent typically measure.
The best constant is fitted on all items: if sizes are spread evenly, leaving out the tested item
would always move it elsewhere, and suggest that no constant ever passes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["constant_prior", "scale_prior"]

_RIDGE = 1e-6
"""Ridge penalty that keeps a regression solvable if all images are alike."""

Numbers = NDArray[np.float64]


def constant_prior(low: Numbers, high: Numbers) -> float:
    """Share of items passed by the best constant answer; no constant passes more.

    Args:
        low: smallest value that passes each of one or more items.
        high: largest value that passes each.
    """
    # The overlap of intervals is greatest at the start of one of them.
    begun = np.searchsorted(np.sort(low), low, side="right")
    ended = np.searchsorted(np.sort(high), low, side="left")
    return float((begun - ended).max() / len(low))


def scale_prior(
    values: Numbers, low: Numbers, high: Numbers, visible: Numbers, patients: Sequence[str]
) -> float:
    """Share of items passed by a regression on what the frame of an image shows.

    The logarithm of the value is regressed on ``visible`` over the other patients; the best
    constant factor between value and prediction is then applied, so that the reader passes most
    items rather than predicting their mean.

    Args:
        values: true values, above 0.
        low: smallest value that passes each.
        high: largest value that passes each.
        visible: ``(n, k)``: for example the logarithms of the width of the image in millimetres
            and of its height over its width.
        patients: patient of each item; with fewer than ``k + 2`` patients the regression cannot be
            fitted, and only the constant is tried.
    """
    names, patient = np.unique(np.asarray(patients, dtype=str), return_inverse=True)
    table = np.column_stack([np.ones(len(values)), visible - visible.mean(axis=0)])
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
