"""One image of a case on its way to a picture: display order, grey values, masks on its grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build import geometry, readers
from medrcube.build.colour import apply_colour_policy
from medrcube.build.overlay import to_rgb
from medrcube.build.plan import Job
from medrcube.build.slicing import Choice, choose_slices
from medrcube.build.volume import Volume
from medrcube.build.windowing import GreyScale, grey_scale
from medrcube.errors import ReadError
from medrcube.records import ImageRef, MaskFile, Rectangle, Region
from medrcube.sources.card import PixelPolicy
from medrcube.sources.contract import Source, load_source

GAP = 8
"""Black columns between pictures that are shown side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One image of a case, ready to give pictures.

    Attributes:
        volume: in display order.
        greys: grey scale of the whole volume; ``None`` for colour.
        policy: how stored values become a picture.
        masks: number of a region -> ``(slices, rows, columns)`` in display order.
    """

    volume: Volume
    greys: GreyScale | None
    policy: PixelPolicy
    masks: Mapping[int, NDArray[np.bool_]]

    def picture(self, index: int) -> NDArray[np.uint8]:
        """One slice as an 8-bit picture with square pixels."""
        pixels = self.volume.slices[index]
        if self.greys is None:
            picture = apply_colour_policy(pixels, self.policy.colour)
        else:
            picture = self.greys.apply(pixels)
        return geometry.resample_picture(picture, self._size(picture.shape))

    def masks_on(self, index: int) -> dict[int, NDArray[np.bool_]]:
        """Masks of the regions that one slice shows, on the grid of its picture."""
        return {
            number: geometry.resample_mask(mask[index], self._size(mask[index].shape))
            for number, mask in self.masks.items()
            if mask[index].any()
        }

    def _size(self, shape: tuple[int, ...]) -> tuple[int, int]:
        if self.volume.spacing is None or self.policy.spacing == "square":
            return (shape[0], shape[1])
        _, rows, columns = self.volume.spacing
        return geometry.square_size(shape[0], shape[1], rows, columns)


def open_tiles(job: Job) -> list[Tile]:
    """Read all images of a case.

    Raises:
        ReadError: an image or mask cannot be read, or a region marks no pixel.
    """
    return [_tile(job, number, image) for number, image in enumerate(job.case.images)]


def choose(job: Job, tiles: Sequence[Tile]) -> tuple[Choice, ...]:
    """Choose slices by the rule of the adapter, or else by the policy of the card.

    Raises:
        ReadError: no slice fits, or images shown side by side hold unequal numbers of slices.
    """
    volume = tiles[0].volume
    hook = _source(job.folder).find_hook("frames")
    if hook is not None:
        return tuple(Choice(index, "the adapter's own rule") for index in hook(job.case, volume))
    counts = [tile.volume.slices.shape[0] for tile in tiles]
    if len(set(counts)) > 1:
        raise ReadError(
            f"images shown side by side hold {counts} slices; expected equal numbers",
            code="uneven-montage",
        )
    masks = [mask for tile in tiles for mask in tile.masks.values()]
    return choose_slices(job.policy.slice, counts[0], masks)


def side_by_side(pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Join pictures left to right, tops level, with a black gap; one picture stays as it is."""
    if len(pictures) == 1:
        return pictures[0]
    if len({picture.ndim for picture in pictures}) > 1:
        pictures = [to_rgb(picture) for picture in pictures]
    height = max(picture.shape[0] for picture in pictures)
    columns = [
        np.pad(picture, ((0, height - picture.shape[0]), (0, GAP), (0, 0))[: picture.ndim])
        for picture in pictures
    ]
    return np.concatenate(columns, axis=1)[:, :-GAP]


@cache
def _source(folder: Path) -> Source:
    return load_source(folder)


def _tile(job: Job, number: int, image: ImageRef) -> Tile:
    read = _source(job.folder).find_hook("read") or readers.read
    stored = read(image)
    place = {"plane": job.plane, "orient": job.policy.orient}
    orientation = geometry.orientation_of(stored, **place)
    volume = geometry.display(stored, **place)
    masks: dict[int, NDArray[np.bool_]] = {}
    for index, region in enumerate(job.case.regions):
        if region.image == number and job.concepts[index] is not None:
            mask = _mask(region, stored)
            if not mask.any():
                raise ReadError(
                    f"the region {region.value!r} ({region.evidence}) marks no pixel",
                    code="empty-mask",
                )
            masks[index] = orientation.apply(mask)
    greys = None if volume.colour else grey_scale(volume, job.policy.window)
    return Tile(volume=volume, greys=greys, policy=job.policy, masks=masks)


def _mask(region: Region, stored: Volume) -> NDArray[np.bool_]:
    shape = stored.slices.shape[:3]
    if isinstance(region.shape, MaskFile):
        return readers.read_mask(region.shape, shape)
    return _rectangle(region.shape, shape, region.evidence)


def _rectangle(box: Rectangle, shape: tuple[int, ...], evidence: str) -> NDArray[np.bool_]:
    x0, y0, x1, y1 = box.xyxy
    count, height, width = shape
    if count != 1:
        raise ReadError(f"{evidence}: a box needs one frame, found {count}", code="no-slice")
    if box.frame is not None and box.frame != (width, height):
        raise ReadError(
            f"{evidence}: the box was drawn in a frame of {box.frame[0]} x {box.frame[1]} pixels "
            f"but the image has {width} x {height}; is this copy resized?",
            code="box-frame",
        )
    # Boxes drawn by hand may end on the far edge, one past the last pixel.
    if not (0 <= x0 < x1 <= width + 1 and 0 <= y0 < y1 <= height + 1):
        raise ReadError(
            f"{evidence}: box {box.xyxy} does not lie in the image of {width} x {height} pixels; "
            "is this copy resized?",
            code="box-outside",
        )
    mask = np.zeros(shape, np.bool_)
    mask[0, int(y0) : int(np.ceil(y1)), int(x0) : int(np.ceil(x1))] = True
    return mask
