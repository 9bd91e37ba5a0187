"""Slice numbers of a CT scan, counted from the head, for labels by slice number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medrcube.errors import ReadError
from medrcube.sources._formats.dicom.headers import read_header

__all__ = ["number_from_head"]

_PLACE = ("InstanceNumber", "ImagePositionPatient", "ImageOrientationPatient", "SeriesInstanceUID")
_AXIAL = (1, 0, 0, 0, 1, 0)


def number_from_head(paths: Sequence[Path], *, step: float, most_off: float) -> dict[int, Path]:
    """Return the files of an axial series by slice number from the head, from 0; gaps allowed.

    InstanceNumber must count from 1 at the head and agree with evenly spaced positions; otherwise
    the scan is rejected, because the slice of a label would be unknown.

    Args:
        paths: files of one folder, whatever their names and SOPInstanceUIDs.
        step: slice distance in mm.
        most_off: permitted position error in mm.

    Raises:
        ReadError: code ``no-position``, ``slice-order``, or those of ``read_header``.
    """
    stack: dict[int, Path] = {}
    heights: dict[int, float] = {}
    series = set()
    for path in paths:
        header = read_header(path, _PLACE)
        try:
            k = int(header["InstanceNumber"]) - 1
            *_, heights[k] = map(float, header["ImagePositionPatient"].split("\\"))
            axes = tuple(map(float, header["ImageOrientationPatient"].split("\\")))
        except (KeyError, ValueError):
            message = f"a file lacks {', '.join(_PLACE[:3])}, which determine the order of slices"
            raise ReadError(message, code="no-position") from None
        series.add((header.get("SeriesInstanceUID"), axes))
        stack[k] = path
    top = heights.get(0)
    off = [] if top is None else [top - height - step * k for k, height in heights.items()]
    if not off or max(map(abs, off)) > most_off or len(stack) < len(paths):
        raise ReadError(
            f"slices are not numbered from the head in steps of {step:g} mm by InstanceNumber and "
            "ImagePositionPatient, as the card assumes: the slice of a label is unknown",
            code="slice-order",
        )
    if len(series) > 1 or next(iter(series))[1] != _AXIAL:
        raise ReadError("not one axial series; expected one per folder", code="slice-order")
    return stack
