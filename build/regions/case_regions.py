"""Region masks of one stored image of a case, and checks of their plausibility."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from medrcube.build import readers
from medrcube.build.pixels.volume import Volume
from medrcube.build.readers.masks import describe_values, labels_in
from medrcube.build.regions.agreement import check_agreement
from medrcube.build.regions.consistency import check_enclosed, check_side
from medrcube.build.regions.rasterize import rasterise
from medrcube.build.regions.region_mask import Mask
from medrcube.build.stages.plan import RenderJob
from medrcube.errors import ReadError
from medrcube.facts import Consensus, MaskFile, Rectangle, Region, Shape
from medrcube.regions import files_of, frame_of

__all__ = ["check_marks", "check_stored_axes", "drawn_frame", "readings_of", "region_masks"]

_ELSEWHERE = ("mask-size", "outline-frame")
"""Codes of marks that were drawn on an image of another size or shape than this copy has."""


def region_masks(
    job: RenderJob, number: int, stored_volume: Volume
) -> tuple[dict[int, Mask], dict[int, tuple[Mask, ...]], tuple[str, str] | None]:
    """Return the masks of the regions of one stored image, those of each reader, and any problem.

    A single image is still worth showing if a box or mask does not fit it, as in a copy of another
    size: then no region has a mask, and the code and reason are returned. In a volume, regions also
    determine the slice.

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
            mask = _mask(region, stored_volume)
        except ReadError as error:
            lost = isinstance(region.shape, Rectangle) or error.code in _ELSEWHERE
            if stored_volume.slices.shape[0] > 1 or not lost:
                raise
            return {}, {}, (error.code, str(error))
        for rival in region.rivals:
            drawings = ((region.shape, mask), (rival, rasterise(rival, stored_volume)))
            check_agreement(region.value, drawings, stored_volume.affine)
        if not mask.any():
            empty.append(region)
            continue
        _check_whole(region, mask, stored_volume)
        masks[index] = mask
        needs[index] = tuple(rasterise(shape, stored_volume) for shape in _needed(region.shape))
    filled = {path for index in masks for path in files_of(job.case.regions[index].shape)}
    for region in empty:
        _check_empty(region, filled)
    return masks, needs, None


def _check_whole(region: Region, mask: Mask, stored_volume: Volume) -> None:
    """Reject a marked region with non-finite voxels: there they are not background."""
    gaps = stored_volume.greys.gaps
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
    """Reject a region that marks nothing, unless its source states that it may be missing.

    If no region finds its values in a file, the file holds unexpected values, and nothing can be
    concluded from it.

    Args:
        region: region without a marked pixel.
        filled: mask files in which another region of the image is marked.
    """
    values = () if filled & {*files_of(region.shape)} else _values_in(region.shape)
    if region.optional and not any(values):
        return
    instead = describe_values(region.shape) if isinstance(region.shape, MaskFile) else ""
    raise ReadError(
        f"the region {region.value!r} ({region.evidence}) marks no pixel"
        f"{f': {instead}' if instead else ''}",
        code="empty-mask",
    )


def drawn_frame(
    job: RenderJob, numbers: Iterable[int], stored_volume: Volume
) -> tuple[int, int] | None:
    """Return the size of the image in which boxes and outlines were drawn, if it differs."""
    rows, columns = stored_volume.slices.shape[1:3]
    for shape in (job.case.regions[number].shape for number in numbers):
        frame = frame_of(shape)
        if frame not in (None, (columns, rows)):
            return frame
    return None


def check_marks(job: RenderJob, masks: Mapping[int, Mask], volume: Volume) -> None:
    """Check the masks of one image against the card's anatomical rules."""
    if job.enclosed is not None:
        masks_of: dict[str, list[Mask]] = {}
        for number, mask in masks.items():
            masks_of.setdefault(job.concepts[number] or "", []).append(mask)
        check_enclosed(job.enclosed, masks_of)
    if job.side is not None:
        check_side(job.side, dict(job.case.facts), tuple(masks.values()), volume)


def check_stored_axes(job: RenderJob, number: int, stored_volume: Volume) -> None:
    """Reject masks whose axes differ from those of an image that is shown as stored."""
    regions = (
        region for index, region in enumerate(job.case.regions) if job.concepts[index] is not None
    )
    shapes = [region.shape for region in regions if region.image == number]
    for shape in (*shapes, *(job.case.guide if number == 0 else ())):
        if isinstance(shape, MaskFile):
            readers.check_axes(shape, stored_volume)


def readings_of(shape: Shape) -> tuple[Shape, ...]:
    """Return the marks of each of several readers; empty if a region has a single reading."""
    return shape.readings if isinstance(shape, Consensus) else ()


def _values_in(shape: Shape) -> tuple[float, ...]:
    """Return the values in a label mask; empty if it names no values."""
    return labels_in(shape) if isinstance(shape, MaskFile) and shape.values else ()


def _needed(shape: Shape) -> Iterator[MaskFile]:
    if isinstance(shape, MaskFile):
        yield from (replace(shape, values=values, needs=()) for values in shape.needs)


def _mask(region: Region, stored_volume: Volume) -> Mask:
    try:
        return rasterise(region.shape, stored_volume)
    except ReadError as error:
        if isinstance(region.shape, MaskFile):
            raise
        raise ReadError(f"{region.evidence}: {error}", code=error.code) from error
