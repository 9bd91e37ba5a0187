"""Image of a case in display orientation, with its grey-scale transform and region masks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build import readers
from medrcube.build.pixels import geometry
from medrcube.build.pixels.colour_policy import apply_colour_policy
from medrcube.build.pixels.known_faults import repair_known_fault
from medrcube.build.pixels.placement import check_placed, check_tilt
from medrcube.build.pixels.slice_selection import SliceChoice, choose_slices
from medrcube.build.pixels.volume import Volume
from medrcube.build.pixels.windowing.policy import display_transform
from medrcube.build.pixels.windowing.recorded_window import recorded_transform
from medrcube.build.pixels.windowing.transform import DisplayTransform
from medrcube.build.readers.read_errors import MOST_PIXELS
from medrcube.build.regions.case_regions import (
    check_marks,
    check_stored_axes,
    drawn_frame,
    readings_of,
    region_masks,
)
from medrcube.build.regions.rasterize import rasterise
from medrcube.build.regions.region_mask import Mask
from medrcube.build.stages.plan import RenderJob
from medrcube.errors import ReadError
from medrcube.facts import ImageRef, MaskFile, Shape
from medrcube.sources._framework.card_parts.pixels import PixelPolicy
from medrcube.sources._framework.contract import Source, load_source

__all__ = ["CaseImage", "choose_case_slices", "open_case_images", "open_volume", "picture_size"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseImage:
    """One image of a case, ready to be rendered.

    Attributes:
        volume: in display order.
        greys: display transform of the whole volume; ``None`` for colour.
        policy: how stored values become an image.
        masks: number of a region -> its mask, in display order.
        guide: masks that determine the slice in place of those of the regions.
        needs: number of a region -> masks of which each must mark a slice for the region's name to
            be true there.
        readings: number of a region that several readers marked -> the mask of each.
        frame: ``(width, height)`` of the image that its marks were drawn in, if they are scaled.
        unplaced: code and reason if a box or mask does not fit the image; then no region has a
            mask, because a mark of unknown position may lie anywhere.
        misled: code and reason if an optional guide of the case cannot be used.
    """

    volume: Volume
    greys: DisplayTransform | None
    policy: PixelPolicy
    masks: Mapping[int, Mask]
    guide: tuple[Mask, ...] = ()
    needs: Mapping[int, tuple[Mask, ...]] = field(default_factory=dict)
    readings: Mapping[int, tuple[Mask, ...]] = field(default_factory=dict)
    frame: tuple[int, int] | None = None
    unplaced: tuple[str, str] | None = None
    misled: tuple[str, str] | None = None

    def picture(self, index: int) -> NDArray[np.uint8]:
        """Return one slice as an 8-bit image with square pixels."""
        pixels = self.volume.slices[index]
        if self.greys is None:
            picture = apply_colour_policy(pixels, self.policy.colour)
        else:
            picture = self.greys.apply(pixels)
        return geometry.resample_picture(picture, self._size(picture.shape))

    def masks_on(self, index: int) -> Mapping[int, NDArray[np.bool_]]:
        """Return the masks of the regions that one slice shows, on the grid of its image.

        Each mask is made on access: a film can have dozens, and each takes as much memory as its
        image.
        """
        return _VisibleMasks(
            {number: mask for number, mask in self.masks.items() if mask.marks(index)},
            index,
            self._size(self.volume.slices.shape[1:3]),
        )

    def untrue_on(self, index: int) -> frozenset[int]:
        """Return the numbers of the regions whose names imply more than one slice shows."""
        return frozenset(
            number
            for number, parts in self.needs.items()
            if not all(part.marks(index) for part in parts)
        )

    def readings_on(self, number: int, index: int) -> Iterator[NDArray[np.bool_]]:
        """Yield what each reader of a region marked on one slice, on the grid of its image.

        Readers who marked nothing there are left out; nothing is yielded for a region with one
        reading.
        """
        size = self._size(self.volume.slices.shape[1:3])
        for mask in self.readings.get(number, ()):
            if mask.marks(index):
                yield geometry.resample_mask(mask[index], size)

    def without_pixels(self) -> CaseImage:
        """Return the image without pixels, after its last rendering; marks can still be drawn."""
        shape = (0, *self.volume.slices.shape[1:])
        return replace(self, volume=replace(self.volume, slices=np.empty(shape, np.uint8)))

    def _size(self, shape: tuple[int, ...]) -> tuple[int, int]:
        return picture_size(self.volume, self.policy, shape)


class _VisibleMasks(Mapping[int, NDArray[np.bool_]]):
    """Masks of one slice by region number."""

    def __init__(self, masks: Mapping[int, Mask], index: int, size: tuple[int, int]) -> None:
        self._masks = masks
        self._index = index
        self._size = size

    def __getitem__(self, number: int) -> NDArray[np.bool_]:
        return geometry.resample_mask(self._masks[number][self._index], self._size)

    def __iter__(self) -> Iterator[int]:
        return iter(self._masks)

    def __len__(self) -> int:
        return len(self._masks)


def open_case_images(job: RenderJob) -> list[CaseImage]:
    """Read all images of a case.

    Raises:
        ReadError: an image or mask cannot be read, or a region marks no pixel.
    """
    case_images = [_case_image(job, number, image) for number, image in enumerate(job.case.images)]
    if job.policy.orient == "stored":  # then they are displayed as stored, too
        for image, case_image in zip(job.case.images[1:], case_images[1:], strict=True):
            readers.check_stored_alike(
                image.paths[0].name, case_image.volume, case_images[0].volume
            )
    return case_images


def choose_case_slices(job: RenderJob, case_images: Sequence[CaseImage]) -> tuple[SliceChoice, ...]:
    """Select slices by the rule of the adapter, or else by the policy of the card.

    For images shown side by side the first decides; the others show the same slice. If the job
    names slices that the volume has, those are used.

    Raises:
        ReadError: no slice fits, or images shown side by side have different numbers of slices.
    """
    counts = [case_image.volume.slices.shape[0] for case_image in case_images]
    if len(set(counts)) > 1:
        raise ReadError(
            f"images shown side by side hold {counts} slices; expected equal numbers",
            code="uneven-montage",
        )
    volume = case_images[0].volume
    if job.frames and max(job.frames) < volume.slices.shape[0]:
        return tuple(SliceChoice(index, "named by the job") for index in job.frames)
    if job.case.unguided and (case_images[0].misled is not None or not job.case.guide):
        choices = choose_slices(job.case.unguided, volume, ())
        return tuple(replace(choice, instead=case_images[0].misled) for choice in choices)
    hook = _source(job.folder).find_hook("frames")
    if hook is not None:
        # Patients have pseudonyms that differ between workspaces; the slice must not depend on
        # them.
        nameless = replace(job.case, patient=None)
        return tuple(
            SliceChoice(index, "the adapter's own rule") for index in hook(nameless, volume)
        )
    masks = case_images[0].guide or tuple(case_images[0].masks.values())
    return choose_slices(job.policy.slice, volume, masks)


def picture_size(volume: Volume, policy: PixelPolicy, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return height and width of the image of a slice once its pixels are square.

    Args:
        volume: in display order.
        policy: how stored values become an image.
        shape: of the slice, as stored.

    Raises:
        ReadError: code ``unreadable`` if the spacing gives no valid image size.
    """
    if volume.spacing is None or policy.spacing == "square":
        return (shape[0], shape[1])
    _, rows, columns = volume.spacing
    lengths = 0 < rows < math.inf and 0 < columns < math.inf
    ratio = max(rows, columns) / min(rows, columns) if lengths else math.inf
    if not (ratio * shape[0] * shape[1] <= MOST_PIXELS):
        raise ReadError(
            f"spacing {rows:g} x {columns:g} mm of {shape[0]} x {shape[1]} pixels cannot "
            "be resampled to square pixels; expected spacings of one order of magnitude",
            code="unreadable",
        )
    return geometry.square_size(shape[0], shape[1], rows, columns)


def open_volume(job: RenderJob, image: ImageRef) -> Volume:
    """Read one image of a case in display order, without its marks and without windowing.

    Raises:
        ReadError: it cannot be read.
    """
    return geometry.reorient(_stored_volume(job, image), job.plane, job.policy.orient)


def _stored_volume(job: RenderJob, image: ImageRef) -> Volume:
    reader = _source(job.folder).find_hook("read") or readers.read
    return repair_known_fault(reader(image), job.policy.repair)


@cache
def _source(folder: Path) -> Source:
    return load_source(folder)


def _case_image(job: RenderJob, number: int, image: ImageRef) -> CaseImage:
    stored_volume = _stored_volume(job, image)
    check_placed(stored_volume, image, job.policy)
    orientation = geometry.orientation_of(stored_volume, job.plane, job.policy.orient)
    volume = geometry.turned(stored_volume, orientation, job.plane)
    check_tilt(volume, image, job.policy)
    if job.policy.orient == "stored":
        check_stored_axes(job, number, stored_volume)
    masks, needs, unplaced = region_masks(job, number, stored_volume)
    masks = {n: mask.turned(orientation.axes, orientation.flips) for n, mask in masks.items()}
    check_marks(job, masks, volume)
    greys = None if volume.colour else _display_transform(job, number, volume)
    guide: tuple[Mask, ...] = ()
    misled: tuple[str, str] | None = None
    try:
        guide = tuple(
            rasterise(shape, stored_volume).turned(orientation.axes, orientation.flips)
            for shape in _guides(job, number, stored_volume)
        )
    except ReadError as error:
        if not job.case.unguided:
            raise
        misled = error.code, str(error)
    return CaseImage(
        volume=volume,
        greys=greys,
        policy=job.policy,
        masks=masks,
        guide=guide,
        needs={
            n: tuple(part.turned(orientation.axes, orientation.flips) for part in parts)
            for n, parts in needs.items()
        },
        readings={
            n: tuple(
                rasterise(reading, stored_volume).turned(orientation.axes, orientation.flips)
                for reading in readings_of(job.case.regions[n].shape)
            )
            for n in masks
        },
        frame=drawn_frame(job, masks, stored_volume),
        unplaced=unplaced,
        misled=misled,
    )


def _display_transform(job: RenderJob, number: int, volume: Volume) -> DisplayTransform:
    recorded = recorded_transform(volume, job.windows[number]) if job.windows else None
    return recorded or display_transform(volume, job.policy.window)


def _guides(job: RenderJob, number: int, stored_volume: Volume) -> tuple[Shape, ...]:
    """Return the guide that determines the slice; an adapter with its own rule reads it itself."""
    if number > 0:
        return ()
    if _source(job.folder).find_hook("frames") is None:
        return job.case.guide
    for shape in job.case.guide:
        if isinstance(shape, MaskFile):
            readers.check_grids(shape, stored_volume)
    return ()
