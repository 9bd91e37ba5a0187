"""Recipe of an image: inputs by digest, every choice resolved to numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.case_image import CaseImage
from medrcube.build.pixels.mirror import EPOCH as MIRROR_EPOCH
from medrcube.build.pixels.panels import COMPARED_EPOCH
from medrcube.build.pixels.png_encoder import ENCODER
from medrcube.build.pixels.slice_selection import SliceChoice
from medrcube.build.regions.draw_marks import MarkedImage
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.measure_regions import RegionGeometry
from medrcube.facts import ImageRef
from medrcube.names import name_to_text, relative_name

__all__ = ["EPOCH", "RenderContext", "case_origin", "frame_names", "image_recipe", "recipe_id"]

_MARK_EPOCHS = {"mirrored": MIRROR_EPOCH, "compared": COMPARED_EPOCH}
"""Epochs of image kinds that are versioned separately from all others."""


EPOCH = 4
"""Version of the rendering; incremented whenever equal inputs give other pixels, which invalidates
every cached image.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderContext:
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


def frame_names(job: RenderJob, choice: SliceChoice) -> str:
    """Return the frame of each image of a case, joined by ``+``."""
    return "+".join(str(_frame(image, choice)) for image in job.case.images)


def _frame(image: ImageRef, choice: SliceChoice) -> int:
    return choice.index if image.frame is None else image.frame


def case_origin(job: RenderJob, digests: Mapping[str, str]) -> dict[str, Any]:
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


def image_recipe(scene: RenderContext, marked_image: MarkedImage) -> dict[str, Any]:
    """Return the recipe of the image: inputs by digest, every choice resolved to numbers."""
    case_images = scene.case_images
    return {
        **scene.origin,
        "images": [
            {**record, "frame": _frame(image, scene.choice)}
            for image, record in zip(scene.job.case.images, scene.origin["images"], strict=True)
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
        "mark": {**asdict(marked_image.artefact), **_marks(marked_image)},
    }


def _marks(marked_image: MarkedImage) -> dict[str, Any]:
    """Return the boxes (in pixels of the marked image), the visible part and the numbers."""
    optional = {"window": list(marked_image.window), "order": list(marked_image.order)}
    return {
        "boxes": [list(box) for box in marked_image.boxes],
        **{name: numbers for name, numbers in optional.items() if numbers},
        **({"epoch": epoch} if (epoch := _MARK_EPOCHS.get(marked_image.artefact.kind)) else {}),
    }


def recipe_id(recipe: Mapping[str, Any]) -> str:
    """Return the short id of a recipe."""
    text = json.dumps(recipe, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
