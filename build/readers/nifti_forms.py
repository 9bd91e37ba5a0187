"""Consistency of the two affines of a NIfTI file, sform and qform.

A registration (sform codes 2 to 4 of nifti1.h) rotates, shifts and scales; it never mirrors a body
or rotates an axis by more than a right angle. If both affines are set and differ like that, one of
them is wrong, and left and right, or top and bottom, depend on which one a program reads.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.errors import ReadError

__all__ = ["check_forms"]


def check_forms(path: Path, sform: NDArray[np.float64], qform: NDArray[np.float64]) -> None:
    """Reject a file whose sform and qform, 4 x 4 each, contradict each other.

    A singular affine states nothing.

    Raises:
        ReadError: code ``contradicting-affines``.
    """
    sform, qform = sform[:3, :3], qform[:3, :3]
    lengths = [np.linalg.norm(array, axis=0) for array in (sform, qform)]
    if not all(np.isfinite(length).all() and length.all() for length in lengths):
        return
    cosines = (sform * qform).sum(axis=0) / (lengths[0] * lengths[1])
    mirrored = np.linalg.det(sform) * np.linalg.det(qform) < 0
    if mirrored or cosines.min() <= 0:
        angle = np.degrees(np.arccos(np.clip(cosines.min(), -1, 1)))
        how = "mirror" if mirrored else "contradict"
        raise ReadError(
            f"{path.name}: its sform and qform {how} each other: an axis differs by {angle:.0f} "
            "degrees; expected one direction: which of them is right is unknown, so get the file "
            "from its source again",
            code="contradicting-affines",
        )
