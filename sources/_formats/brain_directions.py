"""Orientation of a skull-stripped brain from its shape, for files that do not state it."""

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
    """Return the directions of the second and third axis: 1 if anterior and superior, else -1.

    In the lateral view, only the quadrant below the frontal lobe and in front of the cerebellum is
    largely empty. Left and right cannot be determined.

    Args:
        voxels: brain mask with left-right, front-back and up-down axes, each in either direction.

    Raises:
        RefusedError: code ``wrong-directions`` if it is not symmetric along the first axis, or if
            no quadrant is by far the emptiest.
    """
    places = np.nonzero(voxels)
    if not places[0].size:
        raise RefusedError("the volume is empty; expected a brain", code="wrong-directions")
    brain = voxels[tuple(slice(int(at.min()), int(at.max()) + 1) for at in places)]
    across, upright = (_unlike(brain, axis) for axis in (0, 2))
    if across >= upright:
        raise RefusedError(
            f"{100 * across:.0f} % of the brain has no mirror image across the first axis and "
            f"{100 * upright:.0f} % none across the third; expected the first to run from ear to "
            "ear: is this volume stored in another order?",
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
            f"seen from the side, the emptiest quarter of the brain is filled to {100 * least:.0f} "
            f"% and the next to {100 * second:.0f} %; expected the one below the frontal lobe to "
            "be far emptier: front and back cannot be distinguished",
            code="wrong-directions",
        )
    return (1 if front else -1, -1 if top else 1)


def _unlike(brain: NDArray[np.bool_], axis: int) -> float:
    """Return the share of the brain without a mirror image along an axis."""
    return float((brain & ~np.flip(brain, axis)).sum() / brain.sum())
