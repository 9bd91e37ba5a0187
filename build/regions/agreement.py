"""Agreement of two annotations of one region (Dice coefficient)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError
from medrcube.facts import Shape
from medrcube.regions import files_of

__all__ = ["LEAST", "check_agreement", "dice", "millimetres_between"]

LEAST = 0.7
"""Dice coefficient from which two outlines of one structure agree excellently, by Zijdenbos et al.,
"Morphometric analysis of white matter lesions in MR images", IEEE Trans. Med. Imaging 13, 1994,
https://doi.org/10.1109/42.363096. One outline rasterised by two rules stays above it: half a pixel
more all round leaves a disc of three pixels at 0.72.
"""


def dice(first: Mask, second: Mask) -> float:
    """Return the Dice coefficient of two masks on one grid: 1 if equal, 0 if disjoint."""
    both = sum(int((first[k] & second[k]).sum()) for k in range(first.shape[0]) if first.marks(k))
    total = int(first.areas().sum() + second.areas().sum())
    return 2 * both / total if total else 1.0


def millimetres_between(first: Mask, second: Mask, affine: NDArray[np.float64]) -> float:
    """Return the distance in mm between the centres of two non-empty masks."""
    return float(np.linalg.norm(affine[:3, :3] @ (first.centre() - second.centre())))


def check_agreement(
    what: str,
    drawings: tuple[tuple[Shape, Mask], tuple[Shape, Mask]],
    affine: NDArray[np.float64] | None,
) -> None:
    """Reject two annotations of one structure that contradict each other.

    Args:
        what: name of the structure, for messages.
        drawings: both annotations, each with its mask on the grid of the image.
        affine: of the image, index (slice, row, column, 1) to mm, or ``None``.

    Raises:
        ReadError: code ``contradicting-marks``, with the measure of their disagreement.
    """
    (first_shape, first), (second_shape, second) = drawings
    overlap = dice(first, second)
    if overlap >= LEAST:
        return
    apart = ""
    if affine is not None and first.any() and second.any():
        apart = f" and their centres lie {millimetres_between(first, second, affine):.1f} mm apart"
    raise ReadError(
        f"{what} is drawn in {_name(first_shape)} and in {_name(second_shape)}, and they "
        f"contradict each other: their Dice coefficient is {overlap:.2f}{apart}; expected at least "
        f"{LEAST}: move the file that is wrong out of the copy",
        code="contradicting-marks",
    )


def _name(shape: Shape) -> str:
    """Name of the first file; files of a series differ only in their folder."""
    path = next(iter(files_of(shape)), Path("a table"))
    return f"{path.parent.name}/{path.name}" if path.parent.name else path.name
