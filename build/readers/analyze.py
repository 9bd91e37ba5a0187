"""Analyze 7.5 reader: a 348-byte ``.hdr`` with its ``.img``; values are not rescaled."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from medrcube.build.pixels.volume import Array, PixelSemantics, Volume
from medrcube.build.readers.non_finite import fill_non_finite
from medrcube.build.readers.read_errors import (
    as_stack,
    check_numeric,
    check_pixels,
    check_size,
    truncated,
    unreadable,
)

__all__ = ["read"]

_HEADER = 348


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read a volume as ``(k, j, i)``: slices along the third stored axis, columns the first.

    The volume has no affine: the format has no field for one, and programs make different
    assumptions (https://nifti.nimh.nih.gov/nifti-1/documentation).

    Raises:
        ReadError: code ``truncated`` (also if the ``.img`` is missing), ``unreadable``,
            ``unsupported-format``, ``too-large``, ``not-finite``, ``missing-frame``.
    """
    header = _header(path)
    array = _pixels(path, header)
    slices, greys = fill_non_finite(path, as_stack(path, array, frame), PixelSemantics())
    return Volume(slices=slices, spacing=_spacing(header), greys=greys, solid=True)


def _header(path: Path) -> Any:
    library: Any = nib
    with path.open("rb") as file:
        head = file.read(_HEADER)
    try:
        header = library.AnalyzeHeader(head, check=False)
        header.get_data_dtype()
    except (KeyError, nib.spatialimages.HeaderDataError, nib.wrapstruct.WrapStructError) as error:
        raise unreadable(path, f"has a broken Analyze header ({error!r})") from error
    return header


def _pixels(path: Path, header: Any) -> Array:
    """Return the stored values, slowest axis first, without singleton time axes."""
    axes, shape = int(header["dim"][0]), tuple(map(int, header.get_data_shape()))
    offset = float(header["vox_offset"])
    if not 1 <= axes <= 7 or min(shape, default=0) < 1 or not (offset >= 0 and offset % 1 == 0):
        raise unreadable(
            path,
            f"declares {axes} axes {shape} from byte {offset:g}; expected 1 to 7 axes of at least "
            "one pixel each, from a whole byte on",
        )
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    dtype = header.get_data_dtype()
    check_numeric(path, np.empty(0, dtype))
    needed = int(offset) + math.prod(shape) * int(dtype.itemsize)
    check_pixels(path, shape[:3])
    check_size(path, needed)
    file = path.with_suffix(".img" if path.suffix == path.suffix.lower() else ".IMG")
    if not file.is_file():
        raise truncated(path, f"its pixel file {file.name} is missing")
    if (there := file.stat().st_size) < needed:
        raise truncated(path, f"declares {needed:,} bytes but {file.name} holds {there:,}")
    values: Array = np.memmap(file, dtype, mode="r", offset=int(offset), shape=shape[::-1])
    return values


def _spacing(header: Any) -> tuple[float, float, float] | None:
    zooms = [*(float(zoom) for zoom in header.get_zooms()[:3]), 1.0, 1.0][:3]
    if not all(math.isfinite(zoom) and zoom > 0 for zoom in zooms):
        return None
    columns, rows, between = zooms
    return (between, rows, columns)
