"""Records of rendered images, as plain data that a worker returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from medrcube.build.regions.box_labels import Box
from medrcube.build.stages.plan import Artefact
from medrcube.build.stages.rendering.measure_regions import RegionGeometry
from medrcube.facts import QuarantineRow

__all__ = ["RenderResult", "RenderedPicture", "WrittenImage"]


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
    files: tuple[WrittenImage, ...] = field(default=(), compare=False)
    geometry: tuple[RegionGeometry, ...] = ()
    digests: tuple[tuple[str, str], ...] = ()
    problems: tuple[QuarantineRow, ...] = ()
