"""Slice selection policies, with the reason for each choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from medrcube.build.pixels.extent import body_extent, slice_at_height
from medrcube.build.pixels.volume import Volume
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError

__all__ = ["SliceChoice", "choose_slices"]


@dataclass(frozen=True, slots=True)
class SliceChoice:
    """A slice, by its index in display order, and why it was selected.

    ``instead`` holds code and reason if a guide could not be used.
    """

    index: int
    reason: str
    instead: tuple[str, str] | None = None


def choose_slices(policy: str, volume: Volume, masks: Sequence[Mask]) -> tuple[SliceChoice, ...]:
    """Select slices of a volume by a named policy of the card.

    Ties go to the slice nearest the middle of the volume, then to the lower index.

    Args:
        policy: ``largest-mask``, ``middle-of-mask``, ``middle``, ``key-frame``, ``stride:N`` or
            ``all``.
        volume: in display order; if its slices cut one body, its middle is that of the slices that
            show the body.
        masks: one for each region, in display order.

    Raises:
        ReadError: the policy finds no slice.
    """
    count = volume.slices.shape[0]
    if count == 1:
        return (SliceChoice(0, "the only one"),)
    name, _, step = policy.partition(":")
    if name == "all":
        return tuple(SliceChoice(index, "all slices") for index in range(count))
    if name == "stride":
        offset = (count - 1) % int(step) // 2
        return tuple(
            SliceChoice(index, f"every {step}th slice") for index in range(offset, count, int(step))
        )
    if name == "largest-mask":
        return (_largest(count, masks),)
    if name == "middle-of-mask":
        return (_middle_of_all(count, masks),)
    if name == "middle":
        return (_middle(volume),)
    raise ReadError(
        f"slice policy {policy!r} takes the frame that the adapter names, but it named none "
        f"and the file holds {count}",
        code="no-slice",
    )


def _middle(volume: Volume) -> SliceChoice:
    count = volume.slices.shape[0]
    if not volume.solid or volume.colour:
        return SliceChoice(count // 2, f"middle of {count}")
    first, last = body_extent(volume)
    return SliceChoice(
        slice_at_height(volume, Fraction(1, 2)), f"middle of slices {first} to {last}, of {count}"
    )


def _largest(count: int, masks: Sequence[Mask]) -> SliceChoice:
    if not masks:
        raise _no_region("largest-mask")
    area = sum((mask.areas() for mask in masks), np.zeros(count, np.int64))
    if not area.any():
        raise ReadError("no region marks a pixel in any slice", code="no-slice")
    best = min(range(count), key=lambda k: (-int(area[k]), abs(2 * k - count + 1), k))
    return SliceChoice(best, f"largest marked area, {int(area[best])} pixels")


def _middle_of_all(count: int, masks: Sequence[Mask]) -> SliceChoice:
    complete = np.ones(count, np.bool_)
    for mask in masks:
        complete &= mask.areas() > 0
    if not masks:
        raise _no_region("middle-of-mask")
    slices = np.flatnonzero(complete)
    if not slices.size:
        raise ReadError("no slice shows every marked region", code="no-slice")
    return SliceChoice(
        int(slices[slices.size // 2]),
        f"middle of the {slices.size} slices that show every marked region",
    )


def _no_region(policy: str) -> ReadError:
    return ReadError(
        f'slice = "{policy}" needs a marked region, and this case has none; name the policy of '
        "such cases in adapter.py (Case.unguided), or another one in the card",
        code="no-slice",
    )
