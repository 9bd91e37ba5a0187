"""Mirror image: a picture with left and right exchanged, nothing else changed.

Beside the picture itself it asks the same question with the opposite answer, so that what is known
of bodies without a look answers one of the two wrongly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["EPOCH", "mirror"]

EPOCH = 1
"""Grows whenever the same picture gives another mirror image; it stands in the recipe."""


def mirror(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A copy of ``(rows, columns)`` or ``(rows, columns, 3)`` with its columns in reverse."""
    return np.ascontiguousarray(picture[:, ::-1])
