"""Numeric tables in NumPy format (``.npy``)."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.errors import TableError
from medrcube.sources._formats.tables.contents import read_content

__all__ = ["read_flags"]


def read_flags(path: Path, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Read an array of zeros and ones as booleans, without unpickling.

    Raises:
        TableError: the file is missing or not such an array, or has another shape or values.
    """
    try:
        array: Any = np.load(BytesIO(read_content(path)), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise TableError(path, "holds no array of numbers; get the file again") from error
    if not isinstance(array, np.ndarray) or array.shape != shape:
        actual = getattr(array, "shape", "several arrays")
        raise TableError(path, f"has the shape {actual}; expected {shape}: is it another edition?")
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise TableError(path, "contains values other than 0 and 1; get the file again")
    return array.astype(np.bool_)
