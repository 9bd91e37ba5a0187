"""Rendering of one case: read, select slices, window, draw marks, write PNG.

``render_job`` runs in a worker. It writes each image atomically and returns the results as plain
data; a case that cannot be rendered becomes a ``QuarantineRow``, never an exception.
"""

from __future__ import annotations

import hashlib
import json
import os
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.burnt_in.detection import graphics_of
from medrcube.build.incremental.file_states import FileState, file_state
from medrcube.build.incremental.state_table import packed_state
from medrcube.build.pixels.case_image import CaseImage, choose_case_slices, open_case_images
from medrcube.build.pixels.mirror import EPOCH as MIRROR_EPOCH
from medrcube.build.pixels.mirror import mirror
from medrcube.build.pixels.panels import COMPARED_EPOCH, hstack_images
from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.pixels.png_encoder import ENCODER, encode_png
from medrcube.build.pixels.scale_bar import add_scale_bar, scale_bar_of
from medrcube.build.pixels.slice_selection import SliceChoice
from medrcube.build.pixels.volume import is_grey
from medrcube.build.regions.box_labels import Box
from medrcube.build.regions.draw_marks import MarkedImage, draw_artefact, draw_numbers
from medrcube.build.regions.draw_shapes import bounding_box
from medrcube.build.regions.side_by_side import Columns, is_left_of
from medrcube.build.regions.sizes import panel_doubt
from medrcube.build.stages.measure_regions import RegionGeometry, measure_regions, mm_per_pixel
from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.errors import MedrcubeError, ReadError, RefusedError, WorkspaceError
from medrcube.facts import ImageRef, QuarantineRow
from medrcube.files.atomic import sha256_of, write_again
from medrcube.names import escape_bytes, name_to_text, relative_name
from medrcube.perceptual_hash import perceptual_hash
from medrcube.vocabulary.layers import using

__all__ = [
    "EPOCH",
    "RenderResult",
    "RenderedPicture",
    "WrittenImage",
    "recipe_id",
    "render_job",
]

_MARK_EPOCHS = {"mirrored": MIRROR_EPOCH, "compared": COMPARED_EPOCH}
"""Epochs of image kinds that are versioned separately from all others."""
EPOCH = 4
"""Version of the rendering; incremented whenever equal inputs give other pixels, which invalidates
every cached image.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPicture:
    """One rendered image.

    Attributes:
        artefact: artefact that it shows.
        path: relative to the folder of images.
        bytes: file size.
        pixel_sha256: pixel hash.
        perceptual_hash: hash of a clean image (``medrcube.perceptual_hash``); empty if marked.
        graphics: marks burnt into it (``burnt_in``); empty if none were searched for.
        grey: mean grey value of the clean image, 0 to 255, rounded to a tenth.
        colour: whether any pixel of the clean image is not grey.
        width: in pixels.
        height: in pixels.
        frames: slice of each image, joined by ``+``.
        reason: why that slice was selected.
        area: share of the image that the marked region covers; 0 for a clean image.
        regions: number of separate regions of the concept that were marked.
        boxes: boxes drawn, in the order of their numbers, in pixels of this image.
        truth: number of the right box or panel; 0 if there is none.
        choices: number of numbered boxes or panels.
        recipe: recipe of the image, ready for JSON.
    """

    artefact: Artefact
    path: str
    bytes: int
    pixel_sha256: str
    perceptual_hash: str
    graphics: str
    grey: float
    colour: bool
    width: int
    height: int
    frames: str
    reason: str
    area: float
    regions: int
    boxes: tuple[Box, ...]
    truth: int
    choices: int
    recipe: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenImage:
    """An image file as the worker left it; anything later was not written by the build.

    Attributes:
        path: relative to the folder of images.
        state: its ``FileState`` right after the rename, packed.
        sha256: digest of the bytes written.
    """

    path: str
    state: bytes
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderResult:
    """Result of a job: its images, its regions, the digests of its raw files, problems.

    ``written`` has an entry for each picture. Results that differ only there are equal: the same
    image written twice has two states.
    """

    case: str
    pictures: tuple[RenderedPicture, ...] = ()
    written: tuple[WrittenImage, ...] = field(default=(), compare=False)
    geometry: tuple[RegionGeometry, ...] = ()
    digests: tuple[tuple[str, str], ...] = ()
    problems: tuple[QuarantineRow, ...] = ()


def render_job(job: RenderJob, images: Path) -> RenderResult:
    """Render every artefact of a case into ``images / job.source``.

    Raises:
        WorkspaceError: the images cannot be written; any other failure becomes a problem.
    """
    with using(job.vocabulary):
        return _render_job(job, images)


def _render_job(job: RenderJob, images: Path) -> RenderResult:
    digests: tuple[tuple[str, str], ...] = ()
    try:
        before = _states(job)
        digests = tuple((str(path), sha256_of(path)) for path in job.case.files())
        made, geometry, problems = _render(job, images, dict(digests))
        _check_unchanged(before, _states(job))
    except WorkspaceError:
        raise
    except RefusedError as error:
        problem = _problem(job, error.code, str(error), stage="select")
        return RenderResult(case=job.case.key, digests=digests, problems=(problem,))
    except ReadError as error:
        return RenderResult(case=job.case.key, problems=(_problem(job, error.code, str(error)),))
    except MedrcubeError as error:
        return RenderResult(case=job.case.key, problems=(_problem(job, "unreadable", str(error)),))
    except OSError as error:
        return RenderResult(case=job.case.key, problems=(_out_of_reach(job, error),))
    except MemoryError:
        message = "takes more memory than there is; are its files damaged, or is the machine small?"
        return RenderResult(case=job.case.key, problems=(_problem(job, "too-large", message),))
    except Exception as error:  # noqa: BLE001  # a broken file must not end a build of thousands
        message = f"unexpected {type(error).__name__} at {_where(error)}; please report it"
        return RenderResult(case=job.case.key, problems=(_problem(job, "crashed", message),))
    return RenderResult(
        case=job.case.key,
        pictures=tuple(picture for picture, _ in made),
        written=tuple(file for _, file in made),
        geometry=geometry,
        digests=digests,
        problems=problems,
    )


def _states(job: RenderJob) -> dict[Path, FileState | None]:
    return {path: file_state(path) for path in job.case.files()}


def _check_unchanged(
    before: Mapping[Path, FileState | None], now: Mapping[Path, FileState | None]
) -> None:
    """Reject the images if the raw files have changed since their digests were taken."""
    changed = sorted(path.name for path, state in before.items() if now[path] != state)
    if changed:
        raise ReadError(
            f"{changed[0]}: has changed while its case was rendered, so that nobody knows what the "
            "images show; build again once nothing writes into the raw tree",
            code="changed",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RenderContext:
    """One slice of a case, with everything it was made from.

    ``origin`` is the part that the recipes of all images of the case have in common: for a series
    of hundreds of files, each recipe names all of them.
    """

    job: RenderJob
    case_images: Sequence[CaseImage]
    panels: Sequence[NDArray[np.uint8]]
    choice: SliceChoice
    regions: Sequence[RegionGeometry]
    origin: Mapping[str, Any]
    marker: str
    graphics: str
    grey: float
    colour: bool


_Made = tuple[RenderedPicture, WrittenImage]


def _render(
    job: RenderJob, images: Path, digests: Mapping[str, str]
) -> tuple[tuple[_Made, ...], tuple[RegionGeometry, ...], tuple[QuarantineRow, ...]]:
    case_images = open_case_images(job)
    made: list[_Made] = []
    regions: list[RegionGeometry] = []
    problems: list[QuarantineRow] = []
    for code, reason in filter(None, (case_image.unplaced for case_image in case_images)):
        message = f"{reason}; the image is kept, and no place is asked of it"
        problems.append(_problem(job, code, message, stage="compose"))
    choices = choose_case_slices(job, case_images)
    for code, reason in {slice_choice.instead for slice_choice in choices if slice_choice.instead}:
        message = f"{reason}; another slice is shown, of which the case states no less"
        problems.append(_problem(job, code, message, stage="compose"))
    origin = _origin(job, digests)
    for choice in choices:
        marker = f".s{choice.index:04d}" if len(choices) > 1 else ""
        panels = [case_image.picture(choice.index) for case_image in case_images]
        clean = hstack_images(panels)
        masks = case_images[0].masks_on(choice.index) if len(case_images) == 1 else {}
        graphics = _graphics(job, case_images, choice, clean, masks)
        if choice is choices[-1]:
            case_images = [case_image.without_pixels() for case_image in case_images]
        if clean.min() == clean.max():
            raise ReadError(
                f"slice {choice.index} is blank: every pixel is {clean.flat[0]}", code="blank"
            )
        measured = measure_regions(case_images[0], choice.index, _frames(job, choice), clean, masks)
        regions += measured
        scene = _RenderContext(
            job=job,
            case_images=case_images,
            panels=panels,
            choice=choice,
            regions=measured,
            origin=origin,
            marker=marker,
            graphics=graphics,
            grey=round(_mean(clean), 1),
            colour=clean.ndim == 3 and not is_grey(clean),
        )
        for artefact in job.artefacts:
            outcome = _make(scene, artefact, clean, masks, images)
            if isinstance(outcome, QuarantineRow):
                problems.append(outcome)
            elif outcome is not None:
                made.append(outcome)
    return tuple(made), tuple(regions), tuple(problems)


def _mean(picture: NDArray[np.uint8]) -> float:
    """Mean of all values; the integer sum is exact and takes half the time of floats."""
    width = np.uint32 if picture.size < 1 << 24 else np.uint64
    return int(np.add.reduce(picture, axis=None, dtype=width)) / picture.size


def _graphics(
    job: RenderJob,
    case_images: Sequence[CaseImage],
    choice: SliceChoice,
    clean: NDArray[np.uint8],
    masks: Mapping[int, NDArray[np.bool_]],
) -> str:
    """Detect marks burnt into an image, before a coloured image is converted to grey."""
    detector = job.policy.burnt_in
    if detector == "none" or (
        job.case.modality is not None and job.case.modality.burnt_in != detector
    ):
        return ""
    stored = case_images[0].volume.slices[choice.index] if len(case_images) == 1 else clean
    searched = (
        stored if case_images[0].greys is None and stored.shape[:2] == clean.shape[:2] else clean
    )
    regions = [bounding_box(mask) for mask in masks.values() if mask.any()]
    return graphics_of(searched, detector, regions)


def _make(
    scene: _RenderContext,
    artefact: Artefact,
    clean: NDArray[np.uint8],
    masks: Mapping[int, NDArray[np.bool_]],
    images: Path,
) -> _Made | QuarantineRow | None:
    """Draw and write one artefact; ``None`` if this slice does not show its region."""
    if artefact.kind == "mirrored":
        return _mirrored(scene, clean, images)
    if artefact.kind in ("numbered", "compared"):
        doubt = panel_doubt(scene.job, scene.case_images, scene.choice.index)
        if doubt:
            message = f"{doubt}; nothing that rests on the {artefact.field} of its images is asked"
            return _problem(scene.job, "panels-unsure", message, stage="compose")
        return _write(scene, draw_numbers(scene.job, artefact, scene.panels), images)
    marked = draw_artefact(
        scene.job, artefact, clean, masks, scene.case_images[0].untrue_on(scene.choice.index)
    )
    if artefact.kind == "scale-bar":
        return _with_scale_bar(scene, marked, images)
    if isinstance(marked, str):
        message = f"{marked}, so no ROI Grounding item is made of it"
        return _problem(scene.job, "no-grounding", message, stage="compose")
    return None if marked is None else _write(scene, marked, images)


def _mirrored(scene: _RenderContext, clean: NDArray[np.uint8], images: Path) -> _Made | None:
    """Write the mirror image if two regions lie side by side and no burnt-in mark reveals it."""
    named = [
        (scene.job.concepts[row.region], Columns.of(row.measured.centroid[0], row.measured.box))
        for row in scene.regions
    ]
    apart = any(
        a != b and is_left_of(region, other, clean.shape[1]) is not None
        for (a, region), (b, other) in combinations(named, 2)
    )
    if scene.graphics or not apart:
        return None
    artefact = Artefact(kind="mirrored")
    return _write(scene, MarkedImage(artefact=artefact, pixels=mirror(clean)), images)


def _with_scale_bar(
    scene: _RenderContext, marked: MarkedImage | str | None, images: Path
) -> _Made | QuarantineRow | None:
    """Write an outline above a scale bar if the pixel size is known and a bar fits."""
    if isinstance(marked, str):
        return _problem(scene.job, "no-scale-bar", marked, stage="compose")
    if marked is None:
        return None
    case_image, size = scene.case_images[0], marked.pixels.shape[:2]
    side = mm_per_pixel(case_image.volume, case_image.policy, (size[0], size[1]))
    bar = None if side is None else scale_bar_of(size[1], side)
    if bar is None:
        stated = "no size of square pixels" if side is None else f"{side:g} mm per pixel"
        message = f"{stated} on {size[1]} columns: no bar of a round length is true; none is drawn"
        return _problem(scene.job, "no-scale-bar", message, stage="compose")
    return _write(scene, replace(marked, pixels=add_scale_bar(marked.pixels, bar)), images)


def _write(scene: _RenderContext, marked: MarkedImage, images: Path) -> _Made:
    job, choice = scene.job, scene.choice
    path = f"{job.source}/{job.place}{scene.marker}{marked.artefact.suffix}.png"
    height, width = marked.pixels.shape[:2]
    digest = pixel_hash(marked.pixels)
    clean = marked.artefact.kind == "clean"
    image_hash = perceptual_hash(marked.pixels) if clean else ""
    # Marks are drawn into a copy, because the clean image is used for several artefacts.
    data = encode_png(marked.pixels, spend=not clean)
    status = write_again(images / path, data)
    file = WrittenImage(
        path=path,
        state=packed_state(status),
        sha256=hashlib.sha256(data).hexdigest(),
    )
    picture = RenderedPicture(
        artefact=marked.artefact,
        path=path,
        bytes=len(data),
        pixel_sha256=digest,
        perceptual_hash=image_hash,
        graphics=scene.graphics,
        grey=scene.grey,
        colour=scene.colour,
        width=width,
        height=height,
        frames=_frames(job, choice),
        reason=choice.reason,
        area=marked.area,
        regions=marked.regions,
        boxes=marked.boxes,
        truth=marked.truth,
        choices=len(marked.boxes) or len(marked.order),
        recipe=_recipe(scene, marked) | {"pixel_sha256": digest},
    )
    return picture, file


def _frames(job: RenderJob, choice: SliceChoice) -> str:
    return "+".join(str(_frame(image, choice)) for image in job.case.images)


def _frame(image: ImageRef, choice: SliceChoice) -> int:
    return choice.index if image.frame is None else image.frame


def _origin(job: RenderJob, digests: Mapping[str, str]) -> dict[str, Any]:
    """Return the origin of the images of a case: inputs by name and digest."""
    names = {path: name_to_text(relative_name(path, job.root)) for path in job.case.files()}
    return {
        "source": job.source,
        "case": job.case.key,
        "epoch": EPOCH,
        "files": {name: digests[str(path)] for path, name in names.items()},
        "images": [
            {"files": [names[path] for path in image.paths], "member": image.member}
            for image in job.case.images
        ],
        "plane": job.plane,
        "orient": job.policy.orient,
        "colour": job.policy.colour,
        "encoder": ENCODER,
    }


def _recipe(scene: _RenderContext, marked: MarkedImage) -> dict[str, Any]:
    """Return the recipe of the image: inputs by digest, every choice resolved to numbers."""
    case_images = scene.case_images
    return {
        **scene.origin,
        "images": [
            {**stored, "frame": _frame(image, scene.choice)}
            for image, stored in zip(scene.job.case.images, scene.origin["images"], strict=True)
        ],
        "grey": [
            dict(case_image.greys.numbers) if case_image.greys else None
            for case_image in case_images
        ],
        "spacing_mm": [list(t.volume.spacing) if t.volume.spacing else None for t in case_images],
        **(
            {"boxes_drawn_in": [t.frame for t in case_images]}
            if any(t.frame for t in case_images)
            else {}
        ),
        "mark": {**asdict(marked.artefact), **_marks(marked)},
    }


def _marks(marked: MarkedImage) -> dict[str, Any]:
    """Return the boxes (in pixels of the marked image), the visible part and the numbers."""
    optional = {"window": list(marked.window), "order": list(marked.order)}
    return {
        "boxes": [list(box) for box in marked.boxes],
        **{name: numbers for name, numbers in optional.items() if numbers},
        **({"epoch": epoch} if (epoch := _MARK_EPOCHS.get(marked.artefact.kind)) else {}),
    }


def _problem(job: RenderJob, code: str, message: str, *, stage: str = "render") -> QuarantineRow:
    return QuarantineRow(
        source=job.source, case=job.case.key, stage=stage, code=code, message=escape_bytes(message)
    )


def _out_of_reach(job: RenderJob, error: OSError) -> QuarantineRow:
    """Report a raw file that existed when the tree was scanned but cannot be read now."""
    name = Path(os.fsdecode(error.filename)).name if isinstance(error.filename, str) else "a file"
    if isinstance(error, FileNotFoundError):
        return _problem(job, "missing-file", f"{name}: the file is missing; get it again")
    message = f"{name}: cannot be read ({error.strerror}); expected a file that you may read"
    return _problem(job, "unreadable", message)


def _where(error: Exception) -> str:
    """Return the line of code that failed, without the error text, which may quote a header."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def recipe_id(recipe: Mapping[str, Any]) -> str:
    """Return the short id of a recipe."""
    text = json.dumps(recipe, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
