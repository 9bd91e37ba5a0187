"""HDF5 reader, including MATLAB 7.3 files."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from medrcube.build.pixels.volume import Array, PixelSemantics, Volume
from medrcube.build.readers.non_finite import fill_non_finite
from medrcube.build.readers.read_errors import (
    as_stack,
    check_numeric,
    check_pixels,
    check_size,
    unreadable,
    unsupported,
)
from medrcube.errors import ReadError

__all__ = ["read"]


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:
    """Read one array of the container.

    MATLAB stores arrays in column-major order, so they appear transposed in HDF5; this is undone: a
    matrix of m rows by n columns gives ``(1, m, n)``, and m x n x k gives ``(k, m, n)``. Arrays of
    plain HDF5 are read as ``([n,] rows, columns)``.

    Raises:
        ReadError: code ``unsupported-format`` (also MATLAB before 7.3), ``missing-member``,
            ``unreadable``, ``outside-root``, ``too-large``, ``not-finite``, ``missing-frame``.
    """
    with path.open("rb") as file:
        head = file.read(128)
    matlab = head.startswith(b"MATLAB ")
    if matlab and not head.startswith(b"MATLAB 7.3"):
        raise unsupported(
            path,
            "is a MATLAB file of an older version; expected 7.3 (HDF5): open it in MATLAB or "
            "Octave and save it again with -v7.3",
        )
    array = _load(path, member)
    check_numeric(path, array)
    if array.dtype == np.bool_:
        array = array.astype(np.uint8)
    if matlab:
        array = array.swapaxes(-1, -2)
    slices, greys = fill_non_finite(path, as_stack(path, array, frame), PixelSemantics())
    return Volume(slices=slices, greys=greys)


def _load(path: Path, member: str | None) -> Array:
    try:
        with h5py.File(path, "r") as file:
            array: Array = _member(path, file, member)[()]
    except (ReadError, MemoryError):
        raise
    except Exception as error:  # damaged HDF5 raises almost any type
        raise unreadable(
            path, f"is damaged HDF5 ({error.__class__.__name__}); get the file again"
        ) from error
    if array.ndim < 2:
        raise unsupported(path, f"array {member!r} has the shape {array.shape}; expected 2 axes")
    return array


def _member(path: Path, file: h5py.File, member: str | None) -> h5py.Dataset:
    arrays = _arrays(file)
    if member is None or member not in arrays:
        choice = "no array is named" if member is None else f"there is no array {member!r}"
        raise ReadError(
            f"{path.name}: {choice} in ImageRef.member; the file has the arrays "
            f"{', '.join(arrays) or '(none)'}",
            code="missing-member",
        )
    dataset = file[member]
    if dataset.external or dataset.is_virtual:
        raise ReadError(
            f"{path.name}: keeps the array {member!r} in other files; expected it in this file",
            code="outside-root",
        )
    check_pixels(path, dataset.shape)
    check_size(path, dataset.size * dataset.dtype.itemsize)
    return dataset


def _arrays(file: h5py.File) -> list[str]:
    names: list[str] = []

    def note(name: str, node: object) -> None:
        if isinstance(node, h5py.Dataset) and not name.startswith("#refs#"):
            names.append(name)

    file.visititems(note)
    return names
