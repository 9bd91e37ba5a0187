"""Images of one slice: draw each artefact of a job, and write it as PNG."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build.incremental.state_table import packed_state
from medrcube.build.pixels.mirror import mirror
from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.pixels.png_encoder import encode_png
from medrcube.build.pixels.scale_bar import add_scale_bar, scale_bar_of
from medrcube.build.regions.draw_marks import MarkedImage, draw_artefact, draw_numbers
from medrcube.build.regions.side_by_side import Columns, is_left_of
from medrcube.build.regions.sizes import panel_doubt
from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.build.stages.rendering.measure_regions import mm_per_pixel
from medrcube.build.stages.rendering.recipe import RenderContext, frame_names, image_recipe
from medrcube.build.stages.rendering.rendered_picture import RenderedPicture, WrittenImage
from medrcube.facts import QuarantineRow
from medrcube.files.atomic import write_again
from medrcube.names import escape_bytes
from medrcube.perceptual_hash import perceptual_hash

__all__ = ["ImageOutput", "make_artefact", "render_problem"]

ImageOutput = tuple[RenderedPicture, WrittenImage]
"""An image, and its file as it was written."""


def make_artefact(
    scene: RenderContext,
    artefact: Artefact,
    clean: NDArray[np.uint8],
    masks: Mapping[int, NDArray[np.bool_]],
    images: Path,
) -> ImageOutput | QuarantineRow | None:
    """Draw and write one artefact; ``None`` if this slice does not show its region."""
    if artefact.kind == "mirrored":
        return _mirrored(scene, clean, images)
    if artefact.kind in ("numbered", "compared"):
        doubt = panel_doubt(scene.job, scene.case_images, scene.choice.index)
        if doubt:
            message = f"{doubt}; nothing that rests on the {artefact.field} of its images is asked"
            return render_problem(scene.job, "panels-unsure", message, stage="compose")
        return _write(scene, draw_numbers(scene.job, artefact, scene.panels), images)
    marked_image = draw_artefact(
        scene.job, artefact, clean, masks, scene.case_images[0].untrue_on(scene.choice.index)
    )
    if artefact.kind == "scale-bar":
        return _with_scale_bar(scene, marked_image, images)
    if isinstance(marked_image, str):
        message = f"{marked_image}, so no ROI Grounding item is made of it"
        return render_problem(scene.job, "no-grounding", message, stage="compose")
    return None if marked_image is None else _write(scene, marked_image, images)


def _mirrored(scene: RenderContext, clean: NDArray[np.uint8], images: Path) -> ImageOutput | None:
    """Write the mirror image if two regions lie side by side and no burnt-in mark reveals it."""
    concepts = [
        (scene.job.concepts[row.region], Columns.of(row.measured.centroid[0], row.measured.box))
        for row in scene.regions
    ]
    apart = any(
        a != b and is_left_of(region, other, clean.shape[1]) is not None
        for (a, region), (b, other) in combinations(concepts, 2)
    )
    if scene.graphics or not apart:
        return None
    artefact = Artefact(kind="mirrored")
    return _write(scene, MarkedImage(artefact=artefact, pixels=mirror(clean)), images)


def _with_scale_bar(
    scene: RenderContext, marked_image: MarkedImage | str | None, images: Path
) -> ImageOutput | QuarantineRow | None:
    """Write an outline above a scale bar if the pixel size is known and a bar fits."""
    if isinstance(marked_image, str):
        return render_problem(scene.job, "no-scale-bar", marked_image, stage="compose")
    if marked_image is None:
        return None
    case_image, size = scene.case_images[0], marked_image.pixels.shape[:2]
    side = mm_per_pixel(case_image.volume, case_image.policy, (size[0], size[1]))
    bar = None if side is None else scale_bar_of(size[1], side)
    if bar is None:
        stated = "no size of square pixels" if side is None else f"{side:g} mm per pixel"
        message = f"{stated} on {size[1]} columns: no bar of a round length is true; none is drawn"
        return render_problem(scene.job, "no-scale-bar", message, stage="compose")
    return _write(
        scene, replace(marked_image, pixels=add_scale_bar(marked_image.pixels, bar)), images
    )


def _write(scene: RenderContext, marked_image: MarkedImage, images: Path) -> ImageOutput:
    job, choice = scene.job, scene.choice
    path = f"{job.source}/{job.place}{scene.marker}{marked_image.artefact.suffix}.png"
    height, width = marked_image.pixels.shape[:2]
    digest = pixel_hash(marked_image.pixels)
    clean = marked_image.artefact.kind == "clean"
    image_hash = perceptual_hash(marked_image.pixels) if clean else ""
    # Marks are drawn into a copy, because the clean image is used for several artefacts.
    data = encode_png(marked_image.pixels, spend=not clean)
    status = write_again(images / path, data)
    file = WrittenImage(
        path=path, state=packed_state(status), sha256=hashlib.sha256(data).hexdigest()
    )
    picture = RenderedPicture(
        artefact=marked_image.artefact,
        path=path,
        bytes=len(data),
        pixel_sha256=digest,
        perceptual_hash=image_hash,
        graphics=scene.graphics,
        grey=scene.grey,
        colour=scene.colour,
        width=width,
        height=height,
        frames=frame_names(job, choice),
        reason=choice.reason,
        area=marked_image.area,
        regions=marked_image.regions,
        boxes=marked_image.boxes,
        truth=marked_image.truth,
        choices=len(marked_image.boxes) or len(marked_image.order),
        recipe=image_recipe(scene, marked_image) | {"pixel_sha256": digest},
    )
    return picture, file


def render_problem(
    job: RenderJob, code: str, message: str, *, stage: str = "render"
) -> QuarantineRow:
    """Return the quarantine row of a case, or of an artefact, that cannot be rendered."""
    return QuarantineRow(
        source=job.source, case=job.case.key, stage=stage, code=code, message=escape_bytes(message)
    )
