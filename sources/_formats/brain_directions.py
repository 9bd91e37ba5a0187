"""Directions of a brain without skull, from its own shape, where a file states none."""

from __future__ import annotations

from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from medrcube.errors import RefusedError

__all__ = ["find_brain_directions"]

_BESIDE = 0.15
"""Half the width, of that of the brain, within which the head is seen from the side: between the
temporal lobes, which reach below the frontal ones."""
_EMPTY = 0.85
"""Most that the emptiest quarter may hold, of what the next one does; 0.69 in the average of 152
heads (MNI152 2009a of nilearn), 0.86 where its lowest 10 mm are cut off."""


def find_brain_directions(voxels: NDArray[np.bool_]) -> tuple[int, int]:
    """Whether the second axis runs to the front and the third one to the top: 1, else -1.

    Seen from the side, only the quarter below the frontal lobe and in front of the cerebellum is
    largely empty. Left and right cannot be told.

    Args:
        voxels: where the brain is: axes across, front to back and up to down, in some direction.

    Raises:
        RefusedError: code ``wrong-directions`` when its halves do not mirror each other across
            the first axis, or when no quarter is the emptiest by far.
    """
    places = np.nonzero(voxels)
    if not places[0].size:
        raise RefusedError("the volume is empty; expected a brain", code="wrong-directions")
    brain = voxels[tuple(slice(int(at.min()), int(at.max()) + 1) for at in places)]
    across, upright = (_unlike(brain, axis) for axis in (0, 2))
    if across >= upright:
        raise RefusedError(
            f"{across:.0%} of the brain has no mirror image across the first axis and "
            f"{upright:.0%} none across the third; expected the first to run from ear to ear: is "
            "this volume stored in another order?",
            code="wrong-directions",
        )
    middle, reach = brain.shape[0] // 2, max(round(_BESIDE * brain.shape[0]), 1)
    side = np.asarray(brain[middle - reach : middle + reach + 1].any(axis=0))
    rows, columns = (np.array_split(np.arange(size), 2) for size in side.shape)
    quarters = {
        (front, top): float(side[np.ix_(rows[front], columns[top])].mean())
        for front in (0, 1)
        for top in (0, 1)
    }
    ((front, top), least), (_, second), *_ = sorted(quarters.items(), key=itemgetter(1))
    if least > _EMPTY * second:
        raise RefusedError(
            f"seen from the side, the emptiest quarter of the brain is filled to {least:.0%} and "
            f"the next to {second:.0%}; expected the one below the frontal lobe to be far emptier: "
            "front and back cannot be told",
            code="wrong-directions",
        )
    return (1 if front else -1, -1 if top else 1)


def _unlike(brain: NDArray[np.bool_], axis: int) -> float:
    """Share of the brain that has no mirror image across an axis."""
    return float((brain & ~np.flip(brain, axis)).sum() / brain.sum())
