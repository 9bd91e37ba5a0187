"""Image of a case in display orientation, with its grey-scale transform and region masks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build import readers
from medrcube.build.pixels import geometry
from medrcube.build.pixels.colour_policy import apply_colour_policy
from medrcube.build.pixels.known_faults import repair_known_fault
from medrcube.build.pixels.slice_selection import SliceChoice, choose_slices
from medrcube.build.pixels.volume import Volume
from medrcube.build.pixels.windowing import DisplayTransform, display_transform
from medrcube.build.readers.masks import describe_values, labels_in
from medrcube.build.readers.read_errors import MOST_PIXELS
from medrcube.build.regions.agreement import check_agreement
from medrcube.build.regions.consistency import check_enclosed, check_side
from medrcube.build.regions.draw_shapes import to_rgb
from medrcube.build.regions.rasterize import rasterise
from medrcube.build.regions.region_mask import Mask
from medrcube.build.stages.plan import RenderJob
from medrcube.errors import ReadError, RefusedError
from medrcube.facts import Consensus, ImageRef, MaskFile, Rectangle, Region, Shape
from medrcube.regions import files_of, frame_of
from medrcube.sources._framework.card import PixelPolicy
from medrcube.sources._framework.contract import Source, load_source

__all__ = [
    "CaseImage",
    "choose_case_slices",
    "hstack_images",
    "open_case_images",
    "open_volume",
    "picture_size",
]

_LEAST_COSINE = 0.8
"""Of the angle between a slice and the plane of the body that it is called by: 36.9 degrees. It is
the bound of D. Clunie's DICOM tools, beyond which an image is oblique and no main axis applies:
https://public.kitware.com/pipermail/insight-users/2005-March/012246.html. A gantry tilts by 30."""
_ELSEWHERE = ("mask-size", "outline-frame")
"""Codes of marks that were drawn on an image of another size or form than this copy has."""
_FAR = 1e6
"""Millimetres; nothing that is scanned is a kilometre long, nor its pixels a nanometre."""
GAP = 8
"""Black columns between images that are shown side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseImage:
    """One image of a case, ready to be rendered.

    Attributes:
        volume: in display order.
        greys: grey scale of the whole volume; ``None`` for colour.
        policy: how stored values become an image.
        masks: number of a region -> where it lies, in display order.
        guide: masks that choose the slice in place of those of the regions.
        needs: number of a region -> masks of which each must mark a slice for its name to be true.
        readings: number of a region that several readers marked -> the mask of each.
        frame: ``(width, height)`` of the image that its marks were drawn in, where they are scaled.
        unplaced: why a box or mask has no place on it, as code and reason; then no region has one,
            because a place that is not known may lie anywhere.
        misled: why the guide of a case that may do without one cannot be used, likewise.
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
        """One slice as an 8-bit image with square pixels."""
        pixels = self.volume.slices[index]
        if self.greys is None:
            picture = apply_colour_policy(pixels, self.policy.colour)
        else:
            picture = self.greys.apply(pixels)
        return geometry.resample_picture(picture, self._size(picture.shape))

    def masks_on(self, index: int) -> Mapping[int, NDArray[np.bool_]]:
        """Masks of the regions that one slice shows, on the grid of its image.

        Each is made when it is asked for: a film can have dozens, and one takes as much memory
        as its image.
        """
        return _VisibleMasks(
            {number: mask for number, mask in self.masks.items() if mask.marks(index)},
            index,
            self._size(self.volume.slices.shape[1:3]),
        )

    def untrue_on(self, index: int) -> frozenset[int]:
        """Numbers of the regions whose names say more than one slice shows."""
        return frozenset(
            number
            for number, parts in self.needs.items()
            if not all(part.marks(index) for part in parts)
        )

    def readings_on(self, number: int, index: int) -> Iterator[NDArray[np.bool_]]:
        """What each reader of a region marked on one slice, on the grid of its image.

        Readers who marked nothing there are left out, and all where the region has one reading.
        """
        size = self._size(self.volume.slices.shape[1:3])
        for mask in self.readings.get(number, ()):
            if mask.marks(index):
                yield geometry.resample_mask(mask[index], size)

    def without_pixels(self) -> CaseImage:
        """The same image once its last rendering is done; only its marks can be drawn still."""
        shape = (0, *self.volume.slices.shape[1:])
        return replace(self, volume=replace(self.volume, slices=np.empty(shape, np.uint8)))

    def _size(self, shape: tuple[int, ...]) -> tuple[int, int]:
        return picture_size(self.volume, self.policy, shape)


class _VisibleMasks(Mapping[int, NDArray[np.bool_]]):
    """The masks of one slice by the number of their region."""

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
    if job.policy.orient == "stored":  # then as displayed, too
        for image, case_image in zip(job.case.images[1:], case_images[1:], strict=True):
            readers.check_stored_alike(
                image.paths[0].name, case_image.volume, case_images[0].volume
            )
    return case_images


def choose_case_slices(job: RenderJob, case_images: Sequence[CaseImage]) -> tuple[SliceChoice, ...]:
    """Choose slices by the rule of the adapter, or else by the policy of the card.

    Of images shown side by side the first decides; the others show the same slice. Where the job
    names slices that the volume has, those are taken.

    Raises:
        ReadError: no slice fits, or images shown side by side hold unequal numbers of slices.
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
        return tuple(
            SliceChoice(index, "the adapter's own rule") for index in hook(job.case, volume)
        )
    masks = case_images[0].guide or tuple(case_images[0].masks.values())
    return choose_slices(job.policy.slice, volume, masks)


def hstack_images(pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Join images left to right, tops level, with a black gap; one image stays as it is."""
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


def picture_size(volume: Volume, policy: PixelPolicy, shape: tuple[int, ...]) -> tuple[int, int]:
    """Height and width of the image of a slice, once its pixels are square.

    Args:
        volume: in display order.
        policy: how stored values become an image.
        shape: of the slice, as stored.

    Raises:
        ReadError: code ``unreadable`` where the spacing makes no image.
    """
    if volume.spacing is None or policy.spacing == "square":
        return (shape[0], shape[1])
    _, rows, columns = volume.spacing
    lengths = 0 < rows < math.inf and 0 < columns < math.inf
    ratio = max(rows, columns) / min(rows, columns) if lengths else math.inf
    if not (ratio * shape[0] * shape[1] <= MOST_PIXELS):
        raise ReadError(
            f"spacing {rows:g} x {columns:g} mm of {shape[0]} x {shape[1]} pixels makes no "
            "image of square pixels; expected distances of one order of size",
            code="unreadable",
        )
    return geometry.square_size(shape[0], shape[1], rows, columns)


def open_volume(job: RenderJob, image: ImageRef) -> Volume:
    """One image of a case in display order, without its marks and before any window.

    Raises:
        ReadError: it cannot be read.
    """
    return geometry.reorient(_stored(job, image), job.plane, job.policy.orient)


def _stored(job: RenderJob, image: ImageRef) -> Volume:
    read = _source(job.folder).find_hook("read") or readers.read
    return repair_known_fault(read(image), job.policy.repair)


@cache
def _source(folder: Path) -> Source:
    return load_source(folder)


def _case_image(job: RenderJob, number: int, image: ImageRef) -> CaseImage:
    stored = _stored(job, image)
    _check_placed(stored, image, job.policy)
    place = {"plane": job.plane, "orient": job.policy.orient}
    orientation = geometry.orientation_of(stored, **place)
    volume = geometry.reorient(stored, **place)
    _check_tilt(volume, image, job.policy)
    if job.policy.orient == "stored":
        _check_axes(job, number, stored)
    masks, needs, unplaced = _region_masks(job, number, stored)
    masks = {n: mask.turned(orientation.axes, orientation.flips) for n, mask in masks.items()}
    _check_marks(job, masks, volume)
    greys = None if volume.colour else display_transform(volume, job.policy.window)
    guide: tuple[Mask, ...] = ()
    misled: tuple[str, str] | None = None
    try:
        guide = tuple(
            rasterise(shape, stored).turned(orientation.axes, orientation.flips)
            for shape in _guides(job, number, stored)
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
                rasterise(reading, stored).turned(orientation.axes, orientation.flips)
                for reading in _readings(job.case.regions[n].shape)
            )
            for n in masks
        },
        frame=_frame(job, masks, stored),
        unplaced=unplaced,
        misled=misled,
    )


def _region_masks(
    job: RenderJob, number: int, stored: Volume
) -> tuple[dict[int, Mask], dict[int, tuple[Mask, ...]], tuple[str, str] | None]:
    """Where the regions of one image lie, as stored, and what their names need.

    A single image is worth showing where a box or mask of it has no place, as in a copy of
    another size: then none has one, and the code and reason are given. In a volume regions also
    choose the slice.

    Raises:
        ReadError: a region cannot be read, or marks no pixel.
    """
    masks: dict[int, Mask] = {}
    needs: dict[int, tuple[Mask, ...]] = {}
    empty: list[Region] = []
    for index, region in enumerate(job.case.regions):
        if region.image != number or job.concepts[index] is None:
            continue
        try:
            mask = _mask(region, stored)
        except ReadError as error:
            lost = isinstance(region.shape, Rectangle) or error.code in _ELSEWHERE
            if stored.slices.shape[0] > 1 or not lost:
                raise
            return {}, {}, (error.code, str(error))
        for rival in region.rivals:
            drawings = ((region.shape, mask), (rival, rasterise(rival, stored)))
            check_agreement(region.value, drawings, stored.affine)
        if not mask.any():
            empty.append(region)
            continue
        _check_whole(region, mask, stored)
        masks[index] = mask
        needs[index] = tuple(rasterise(shape, stored) for shape in _needed(region.shape))
    filled = {path for index in masks for path in files_of(job.case.regions[index].shape)}
    for region in empty:
        _check_empty(region, filled)
    return masks, needs, None


def _check_whole(region: Region, mask: Mask, stored: Volume) -> None:
    """Refuse a marked region in which voxels have no value: there they are no background."""
    gaps = stored.greys.gaps
    if gaps is None:
        return
    lost = sum(int((mask[k] & gaps[k]).sum()) for k in range(mask.shape[0]) if gaps.marks(k))
    if lost:
        raise ReadError(
            f"{lost} of {int(mask.areas().sum())} voxels of the region {region.value!r} "
            f"({region.evidence}) are NaN or infinite in the image; expected values wherever "
            "something is marked: get the file again",
            code="not-finite",
        )


def _check_empty(region: Region, filled: set[Path]) -> None:
    """Refuse a region that marks nothing, unless its source says that it may be missing.

    A file of which no region finds its values holds others than are expected: nothing follows of
    what it marks.

    Args:
        region: without a marked pixel.
        filled: mask files in which another region of the image is marked.
    """
    held = () if filled & {*files_of(region.shape)} else _values_in(region.shape)
    if region.optional and not any(held):
        return
    instead = describe_values(region.shape) if isinstance(region.shape, MaskFile) else ""
    raise ReadError(
        f"the region {region.value!r} ({region.evidence}) marks no pixel"
        f"{f': {instead}' if instead else ''}",
        code="empty-mask",
    )


def _frame(job: RenderJob, numbers: Iterable[int], stored: Volume) -> tuple[int, int] | None:
    """Size of the image that boxes and outlines were drawn in, where it is another one."""
    rows, columns = stored.slices.shape[1:3]
    for shape in (job.case.regions[number].shape for number in numbers):
        frame = frame_of(shape)
        if frame not in (None, (columns, rows)):
            return frame
    return None


def _check_marks(job: RenderJob, masks: Mapping[int, Mask], volume: Volume) -> None:
    """Hold the marks on one image against what the card says of the body."""
    if job.enclosed is not None:
        named: dict[str, list[Mask]] = {}
        for number, mask in masks.items():
            named.setdefault(job.concepts[number] or "", []).append(mask)
        check_enclosed(job.enclosed, named)
    if job.side is not None:
        check_side(job.side, dict(job.case.facts), tuple(masks.values()), volume)


def _check_axes(job: RenderJob, number: int, stored: Volume) -> None:
    regions = (
        region for index, region in enumerate(job.case.regions) if job.concepts[index] is not None
    )
    shapes = [region.shape for region in regions if region.image == number]
    for shape in (*shapes, *(job.case.guide if number == 0 else ())):
        if isinstance(shape, MaskFile):
            readers.check_axes(shape, stored)


def _guides(job: RenderJob, number: int, stored: Volume) -> tuple[Shape, ...]:
    """What chooses the slice; an adapter with a rule of its own reads it itself."""
    if number > 0:
        return ()
    if _source(job.folder).find_hook("frames") is None:
        return job.case.guide
    for shape in job.case.guide:
        if isinstance(shape, MaskFile):
            readers.check_grids(shape, stored)
    return ()


def _readings(shape: Shape) -> tuple[Shape, ...]:
    return shape.readings if isinstance(shape, Consensus) else ()


def _values_in(shape: Shape) -> tuple[float, ...]:
    """What a mask of labels holds; none where it names no values."""
    return labels_in(shape) if isinstance(shape, MaskFile) and shape.values else ()


def _needed(shape: Shape) -> Iterator[MaskFile]:
    if isinstance(shape, MaskFile):
        yield from (replace(shape, values=values, needs=()) for values in shape.needs)


def _check_placed(stored: Volume, image: ImageRef, policy: PixelPolicy) -> None:
    """Refuse to guess how a body lies in its file; films and single images are upright."""
    if stored.affine is not None and not _is_sane(stored.affine):
        raise ReadError(
            f"{image.paths[0].name}: says that it lies nowhere in space; expected millimetres "
            "around a body",
            code="singular-affine",
        )
    least = {"affine": 2, "in-plane": 1}.get(policy.orient, math.inf)
    if stored.solid and stored.affine is None and stored.slices.shape[0] >= least:
        raise ReadError(
            f"{image.paths[0].name}: does not say how its {stored.slices.shape[0]} slice(s) lie in "
            "the patient (no sform, no qform); showing them as stored would assume that the file "
            'is turned as a radiologist expects: the card may state that with orient = "stored"',
            code="no-orientation",
        )


def _check_tilt(volume: Volume, image: ImageRef, policy: PixelPolicy) -> None:
    """Set aside a body that is cut at a slant: no plane names such an image."""
    if volume.affine is None or not volume.solid or policy.orient != "affine":
        return
    tilt, most = geometry.tilt_of(volume), math.degrees(math.acos(_LEAST_COSINE))
    if tilt > most:
        raise RefusedError(
            f"{image.paths[0].name}: its slices are tilted by {tilt:.0f} degrees against the "
            f"nearest plane of the body; expected at most {most:.0f}: further off an image is "
            "oblique and has no plane's name; where slices are oblique by intent, as in the short "
            'axis of the heart, the card may turn each in its own plane with orient = "in-plane", '
            'or show them as they are stored with orient = "stored"',
            code="oblique",
        )


def _is_sane(affine: NDArray[np.float64]) -> bool:
    steps = np.abs(affine[:3, :3]).max(axis=0)
    return bool(np.abs(affine).max() < _FAR and steps.min() > 1 / _FAR)


def _mask(region: Region, stored: Volume) -> Mask:
    try:
        return rasterise(region.shape, stored)
    except ReadError as error:
        if isinstance(region.shape, MaskFile):
            raise
        raise ReadError(f"{region.evidence}: {error}", code=error.code) from error
