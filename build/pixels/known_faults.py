"""Repairs of known faults of a source, selected by name in its card."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from medrcube.build.pixels.volume import Array, LazySlices, SliceStack, Volume

__all__ = ["repair_known_fault"]

_WRAP_SHIFT = 1000
_WRAP_RANGE = 4096
_WRAP_LEAST_INTERCEPT = -100.0


def repair_known_fault(volume: Volume, repair: str) -> Volume:
    """Return the volume with its fault repaired; unchanged if it does not have that fault.

    ``wrap-12-bit``: CT in 12 unsigned bits with a rescale intercept above -100 has lost its offset,
    and values below it have wrapped around to the top of the range. Adding 1000, subtracting 4096
    from results of 4096 and more, and an intercept of -1000 restore HU (the rule of the winning
    solution of the RSNA 2019 haemorrhage challenge). Padding loses its meaning there.

    Args:
        volume: as it was read.
        repair: ``none`` or ``wrap-12-bit``.

    Raises:
        ValueError: no repair has that name.
    """
    if repair == "none":
        return volume
    if repair != "wrap-12-bit":
        raise ValueError(f"repair {repair!r} is not known; expected 'none' or 'wrap-12-bit'")
    greys = volume.greys
    wrapped = (
        not volume.colour
        and greys.bits == 12
        and volume.slices.dtype.kind == "u"
        and volume.slices.dtype.itemsize > 1
        and greys.modality_table is None
        and greys.intercept > _WRAP_LEAST_INTERCEPT
    )
    if not wrapped:
        return volume
    mended = replace(greys, intercept=float(-_WRAP_SHIFT), padding=None, repair=repair)
    return replace(volume, slices=_UnwrappedSlices(volume.slices), greys=mended)


class _UnwrappedSlices(LazySlices):
    """Lazy slices whose wrapped values are restored on access."""

    def __init__(self, slices: SliceStack) -> None:
        super().__init__(slices.shape, slices.dtype)
        self._slices = slices

    def _picture(self, k: int) -> Array:
        picture = self._slices[k]
        moved: Array = picture + picture.dtype.type(_WRAP_SHIFT)
        return np.where(moved >= _WRAP_RANGE, moved - picture.dtype.type(_WRAP_RANGE), moved)
