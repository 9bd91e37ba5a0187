"""Render one case: read its images, choose slices, make grey values, draw marks, write PNGs.

``render_job`` runs in a worker. It writes each picture atomically and returns what was made as
plain data; a case that cannot be rendered becomes a ``Problem``, never an exception.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build import geometry, readers
from medrcube.build.colour import apply_colour_policy
from medrcube.build.encode import ENCODER, encode_png, pixel_hash
from medrcube.build.files import sha256_of, write_bytes
from medrcube.build.grounding import candidate_boxes
from medrcube.build.overlay import draw_boxes, draw_outline
from medrcube.build.plan import Artefact, Job
from medrcube.build.slicing import Choice, choose_slices
from medrcube.build.volume import Volume
from medrcube.build.windowing import GreyScale, grey_scale
from medrcube.errors import MedrcubeError, ReadError, WorkspaceError
from medrcube.records import ImageRef, MaskFile, Problem, Rectangle, Region
from medrcube.sources.contract import Source, load_source

EPOCH = 1
"""Grows whenever the same inputs give other pixels; every cached picture is then made again."""

GAP = 8
"""Black columns between pictures that are shown side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture that was made.

    Attributes:
        artefact: what it is a picture of.
        path: relative to the folder of pictures.
        bytes: size of the file.
        pixel_sha256: identity of the picture.
        width: in pixels.
        height: in pixels.
        frames: slice of each image, joined by ``+``.
        reason: why that slice.
        area: share of the picture that the marked region covers; 0 for a clean picture.
        regions: how many separate regions of the concept were marked.
        truth: number of the right box; 0 where there are no boxes.
        choices: how many boxes are drawn.
        recipe: how the picture was made, ready for JSON.
    """

    artefact: Artefact
    path: str
    bytes: int
    pixel_sha256: str
    width: int
    height: int
    frames: str
    reason: str
    area: float
    regions: int
    truth: int
    choices: int
    recipe: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What became of a job: its pictures, the digests of its raw files, and problems."""

    case: str
    pictures: tuple[Picture, ...] = ()
    digests: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()


def render_job(job: Job, images: Path) -> Rendered:
    """Render every artefact of a case into ``images / job.source``.

    Raises:
        WorkspaceError: the pictures cannot be written; all else becomes a problem.
    """
    try:
        digests = tuple((str(path), sha256_of(path)) for path in job.case.files())
        pictures, problems = _render(job, images, dict(digests))
    except WorkspaceError:
        raise
    except ReadError as error:
        return Rendered(case=job.case.key, problems=(_problem(job, error.code, str(error)),))
    except MedrcubeError as error:
        return Rendered(case=job.case.key, problems=(_problem(job, "unreadable", str(error)),))
    except Exception as error:  # noqa: BLE001  # a broken file must not end a build of thousands
        message = f"unexpected {type(error).__name__} while rendering; please report it"
        return Rendered(case=job.case.key, problems=(_problem(job, "crashed", message),))
    return Rendered(case=job.case.key, pictures=pictures, digests=digests, problems=problems)


@cache
def _source(folder: Path) -> Source:
    return load_source(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tile:
    """One image of a case in display order, with its grey values and the masks on it."""

    volume: Volume
    greys: GreyScale | None
    colour: str
    masks: tuple[tuple[int, NDArray[np.bool_]], ...]


def _render(
    job: Job, images: Path, digests: Mapping[str, str]
) -> tuple[tuple[Picture, ...], tuple[Problem, ...]]:
    tiles = [_tile(job, number, image) for number, image in enumerate(job.case.images)]
    pictures: list[Picture] = []
    problems: list[Problem] = []
    choices = _choose(job, tiles)
    for choice in choices:
        clean = _side_by_side([_picture(tile, choice.index) for tile in tiles])
        if clean.min() == clean.max():
            raise ReadError(
                f"slice {choice.index} is blank: every pixel is {clean.flat[0]}", code="blank"
            )
        masks = _masks_on(tiles, choice.index) if len(tiles) == 1 else {}
        for artefact in job.artefacts:
            made = _draw(job, artefact, clean, masks, choice)
            if isinstance(made, Problem):
                problems.append(made)
            elif made is not None:
                marker = f".s{choice.index:04d}" if len(choices) > 1 else ""
                pictures.append(_write(job, made, choice, images, marker, tiles, digests))
    return tuple(pictures), tuple(problems)


def _tile(job: Job, number: int, image: ImageRef) -> _Tile:
    read = _source(job.folder).find_hook("read") or readers.read
    stored = read(image)
    policy = job.policy
    orientation = geometry.orientation_of(stored, plane=job.plane, orient=policy.orient)
    volume = geometry.display(stored, plane=job.plane, orient=policy.orient)
    masks = [
        (index, orientation.apply(_mask(region, stored)))
        for index, region in enumerate(job.case.regions)
        if region.image == number and job.concepts[index] is not None
    ]
    for index, mask in masks:
        if not mask.any():
            raise ReadError(
                f"the region {job.case.regions[index].value!r} "
                f"({job.case.regions[index].evidence}) marks no pixel",
                code="empty-mask",
            )
    greys = None if volume.colour else grey_scale(volume, policy.window)
    return _Tile(volume=volume, greys=greys, colour=policy.colour, masks=tuple(masks))


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
    if not (0 <= x0 < x1 <= width + 1 and 0 <= y0 < y1 <= height + 1):
        raise ReadError(
            f"{evidence}: box {box.xyxy} does not lie in the image of {width} x {height} pixels; "
            "is this copy resized?",
            code="box-outside",
        )
    mask = np.zeros(shape, np.bool_)
    mask[0, int(y0) : max(int(np.ceil(y1)), int(y0) + 1), int(x0) : int(np.ceil(x1))] = True
    return mask


def _choose(job: Job, tiles: Sequence[_Tile]) -> tuple[Choice, ...]:
    volume = tiles[0].volume
    count = volume.slices.shape[0]
    hook = _source(job.folder).find_hook("frames")
    if hook is not None:
        return tuple(Choice(index, "the adapter's own rule") for index in hook(job.case, volume))
    for tile in tiles[1:]:
        if tile.volume.slices.shape[0] != count:
            raise ReadError(
                f"images shown side by side hold {count} and {tile.volume.slices.shape[0]} "
                "slices; expected equal numbers",
                code="uneven-montage",
            )
    masks = [mask for tile in tiles for _, mask in tile.masks]
    return choose_slices(job.policy.slice, count, masks)


def _picture(tile: _Tile, index: int) -> NDArray[np.uint8]:
    """One slice as an 8-bit picture with square pixels."""
    pixels = tile.volume.slices[index]
    picture = apply_colour_policy(pixels, tile.colour) if tile.greys is None else tile.greys.apply(pixels)
    return geometry.resample_picture(picture, _size(tile, picture.shape))


def _masks_on(tiles: Sequence[_Tile], index: int) -> dict[int, NDArray[np.bool_]]:
    tile = tiles[0]
    return {
        number: geometry.resample_mask(mask[index], _size(tile, mask[index].shape))
        for number, mask in tile.masks
        if mask[index].any()
    }


def _size(tile: _Tile, shape: tuple[int, ...]) -> tuple[int, int]:
    if tile.volume.spacing is None:
        return (shape[0], shape[1])
    _, rows, columns = tile.volume.spacing
    return geometry.square_size(shape[0], shape[1], rows, columns)


def _side_by_side(pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    if len(pictures) == 1:
        return pictures[0]
    height = max(picture.shape[0] for picture in pictures)
    columns: list[NDArray[np.uint8]] = []
    for picture in pictures:
        below = height - picture.shape[0]
        padding = ((0, below), (0, GAP)) + ((0, 0),) * (picture.ndim - 2)
        columns.append(np.pad(picture, padding))
    return np.concatenate(columns, axis=1)[:, :-GAP]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """A picture before it is written."""

    artefact: Artefact
    pixels: NDArray[np.uint8]
    area: float = 0.0
    regions: int = 0
    truth: int = 0
    boxes: tuple[tuple[int, int, int, int], ...] = ()


def _draw(
    job: Job,
    artefact: Artefact,
    clean: NDArray[np.uint8],
    masks: Mapping[int, NDArray[np.bool_]],
    choice: Choice,
) -> _Drawn | Problem | None:
    """Make one artefact; ``None`` where the region is not on this slice."""
    if artefact.kind == "clean":
        return _Drawn(artefact=artefact, pixels=clean)
    mine = [
        number
        for number in masks
        if (job.concepts[number], job.case.regions[number].field)
        == (artefact.concept, artefact.field)
    ]
    if not mine:
        return None
    region = np.logical_or.reduce([masks[number] for number in mine])
    area = float(region.mean())
    if artefact.kind == "outline":
        pixels = draw_outline(clean, region)
        return _Drawn(artefact=artefact, pixels=pixels, area=area, regions=len(mine))
    if len(mine) > 1:
        return _no_item(job, f"{len(mine)} regions are marked as {artefact.concept!r}")
    others = [mask for number, mask in masks.items() if number not in mine]
    seed = f"{job.source}/{job.case.key}/{artefact.field}/{artefact.concept}/{choice.index}"
    candidates = candidate_boxes(clean, region, others, seed=seed)
    if candidates is None:
        return _no_item(job, f"{artefact.concept!r} leaves no room for a second box of its size")
    return _Drawn(
        artefact=artefact,
        pixels=draw_boxes(clean, candidates.boxes),
        area=area,
        regions=len(mine),
        truth=candidates.truth,
        boxes=candidates.boxes,
    )


def _write(
    job: Job,
    drawn: _Drawn,
    choice: Choice,
    images: Path,
    marker: str,
    tiles: Sequence[_Tile],
    digests: Mapping[str, str],
) -> Picture:
    path = f"{job.source}/{job.name}{marker}{drawn.artefact.suffix}.png"
    data = encode_png(drawn.pixels)
    write_bytes(images / path, data)
    height, width = drawn.pixels.shape[:2]
    digest = pixel_hash(drawn.pixels)
    return Picture(
        artefact=drawn.artefact,
        path=path,
        bytes=len(data),
        pixel_sha256=digest,
        width=width,
        height=height,
        frames="+".join(str(_frame(image, choice)) for image in job.case.images),
        reason=choice.reason,
        area=drawn.area,
        regions=drawn.regions,
        truth=drawn.truth,
        choices=len(drawn.boxes),
        recipe=_recipe(job, drawn, choice, tiles, digests) | {"pixel_sha256": digest},
    )


def _frame(image: ImageRef, choice: Choice) -> int:
    return choice.index if image.frame is None else image.frame


def _recipe(
    job: Job,
    drawn: _Drawn,
    choice: Choice,
    tiles: Sequence[_Tile],
    digests: Mapping[str, str],
) -> dict[str, Any]:
    """How to make the picture again: inputs by digest, every choice resolved to numbers."""
    return {
        "source": job.source,
        "case": job.case.key,
        "epoch": EPOCH,
        "files": {
            path.relative_to(job.root).as_posix(): digests[str(path)] for path in job.case.files()
        },
        "images": [
            {
                "files": [path.relative_to(job.root).as_posix() for path in image.paths],
                "member": image.member,
                "frame": _frame(image, choice),
            }
            for image in job.case.images
        ],
        "plane": job.plane,
        "orient": job.policy.orient,
        "grey": [dict(tile.greys.numbers) if tile.greys else None for tile in tiles],
        "spacing_mm": [
            list(tile.volume.spacing) if tile.volume.spacing else None for tile in tiles
        ],
        "mark": {**asdict(drawn.artefact), "boxes": [list(box) for box in drawn.boxes]},
        "encoder": ENCODER,
    }


def _problem(job: Job, code: str, message: str) -> Problem:
    return Problem(source=job.source, case=job.case.key, stage="render", code=code, message=message)


def _no_item(job: Job, reason: str) -> Problem:
    return Problem(
        source=job.source,
        case=job.case.key,
        stage="compose",
        code="no-grounding",
        message=f"{reason}, so no ROI Grounding item is made of it",
    )


def recipe_id(recipe: Mapping[str, Any]) -> str:
    """Short identity of a recipe."""
    text = json.dumps(recipe, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
