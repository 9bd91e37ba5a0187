"""Blind priors: how often the best constant box, point or length passes without an image.

A question that a constant answer passes half of the time says nothing about perception. For each
source, concept and view the constant is fitted on all other patients and tested on one, patient by
patient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from medrcube.build.stages.geometry_table import AREA, BOX

__all__ = ["BlindPrior", "blind_priors", "priors_to_frame"]

_MOST = 512
"""Most constants tried for a group, evenly spaced among those observed."""

Passes = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindPrior:
    """Pass rates of the best constant answer in one group, fitted on the other patients.

    Attributes:
        source: id of the source.
        concept: concept of the regions.
        view: view of the images.
        regions: number of regions that are the only one of their concept on their image.
        patients: number of patients with such a region; of cases if the source names no patient.
        box: share of boxes that a constant box, relative to width and height, reaches with the IoU
            of the bar; missing for fewer than two patients.
        point: share of regions whose box contains a constant point, which is never less than the
            share whose pixels contain it; for regions marked by a drawn box, its inscribed ellipse
            counts.
        lengths: number of regions whose longest diameter is known in millimetres of the body.
        length: share of these that a constant length passes; missing for fewer than two patients.
    """

    source: str
    concept: str
    view: str
    regions: int
    patients: int
    box: float | None
    point: float | None
    lengths: int
    length: float | None


def blind_priors(
    table: pd.DataFrame, *, iou: float = 0.5, tolerance: float = 0.2
) -> Iterator[BlindPrior]:
    """Yield the priors of each source, concept and view, sorted by name.

    Args:
        table: ``geometry.parquet``.
        iou: bar of a box.
        tolerance: bar of a length, as a relative deviation in both directions.
    """
    alone = table[~table.duplicated(["sample", "concept"], keep=False)]
    for (source, concept, view), rows in alone.groupby(["source", "concept", "view"]):
        whole = rows[
            (rows["scale"] == "object")
            & (rows["shape"] == AREA)
            & (rows["pieces"] == 1)
            & ~rows["cut"]
            & ~rows["partial"]
        ]
        yield BlindPrior(
            source=str(source),
            concept=str(concept),
            view=str(view),
            regions=len(rows),
            patients=len(np.unique(_patients(rows))),
            box=_left_out(_boxes(rows), lambda guesses, all_: _overlap(guesses, all_) >= iou, rows),
            point=_left_out(
                _boxes(rows),
                partial(_holds, is_ellipse=(rows["shape"] == BOX).to_numpy()),
                rows,
            ),
            lengths=len(whole),
            length=_left_out(
                (whole["longest"] * whole["mm_per_pixel"]).to_numpy(),
                lambda guesses, all_: np.abs(guesses[:, None] - all_) <= tolerance * all_,
                whole,
            ),
        )


def priors_to_frame(priors: Iterator[BlindPrior]) -> pd.DataFrame:
    """One row per group."""
    return pd.DataFrame([asdict(prior) for prior in priors])


def _left_out(
    values: NDArray[np.float64],
    passes: Callable[[NDArray[np.float64], NDArray[np.float64]], Passes],
    rows: pd.DataFrame,
) -> float | None:
    """Return the share of rows passed by the constant that passes most of other patients' rows."""
    names, patient = np.unique(_patients(rows), return_inverse=True)
    if len(names) < 2:
        return None
    tried = np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST)).astype(np.intp))
    passed = passes(values[tried], values)
    of_patient = np.zeros((len(tried), len(names)), np.int64)
    np.add.at(of_patient.T, patient, passed.T.astype(np.int64))
    elsewhere = passed.sum(axis=1)[:, None] - of_patient
    elsewhere[np.arange(len(tried)), patient[tried]] = -1
    best = elsewhere.argmax(axis=0)
    return float(of_patient[best, np.arange(len(names))].sum() / len(values))


def _patients(rows: pd.DataFrame) -> NDArray[np.str_]:
    return rows["patient"].where(rows["patient"] != "", "case " + rows["case"]).to_numpy(str)


def _boxes(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the corners relative to width and height, ``(n, 4)``."""
    size = rows[["width", "height", "width", "height"]].to_numpy(np.float64)
    return np.asarray(rows[["x0", "y0", "x1", "y1"]].to_numpy(np.float64) / size)


def _overlap(guesses: NDArray[np.float64], boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the IoU of each guess with each box, ``(guesses, boxes)``.

    Boxes relative to width and height have the same area ratios as in pixels.
    """
    low = np.maximum(guesses[:, None, :2], boxes[None, :, :2])
    high = np.minimum(guesses[:, None, 2:], boxes[None, :, 2:])
    both = np.clip(high - low, 0, None).prod(axis=2)
    areas = [(box[:, 2:] - box[:, :2]).prod(axis=1) for box in (guesses, boxes)]
    return np.asarray(both / (areas[0][:, None] + areas[1][None] - both))


def _holds(
    guesses: NDArray[np.float64], boxes: NDArray[np.float64], *, is_ellipse: NDArray[np.bool_]
) -> Passes:
    """Return whether each box contains the centre of each guess; ellipses count as such."""
    middle = (guesses[:, :2] + guesses[:, 2:]) / 2
    inside = (middle[:, None] >= boxes[None, :, :2]) & (middle[:, None] < boxes[None, :, 2:])
    sides = boxes[:, 2:] - boxes[:, :2]
    off = (2 * middle[:, None] - boxes[None, :, :2] - boxes[None, :, 2:]) / sides
    return np.asarray(inside.all(axis=2) & (~is_ellipse | ((off**2).sum(axis=2) <= 1)))
