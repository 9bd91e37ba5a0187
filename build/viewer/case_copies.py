"""Viewer copies of one case, made in a worker."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medrcube.build.pixels.case_image import open_volume, picture_size
from medrcube.build.pixels.geometry import resample_picture
from medrcube.build.pixels.png_encoder import encode_png
from medrcube.build.pixels.volume import Volume
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.samples import Sample
from medrcube.build.viewer.pixels import NEIGHBOURS, ViewerCopy, viewer_copy
from medrcube.errors import MedrcubeError, ReadError
from medrcube.facts import ImageRef
from medrcube.files.atomic import PRIVATE, private_folder, replacing
from medrcube.names import escape_bytes
from medrcube.sources._formats.dicom.headers import in_slice_order
from medrcube.taxonomy import Modality
from medrcube.vocabulary.layers import using

__all__ = ["DIGEST", "FORMAT", "CopyOrder", "CopyResult", "copy_case", "fault_of", "plane_path"]

FORMAT = 3
"""Version of the copies; incremented whenever the same image would get another copy, which
invalidates all.
"""
DIGEST = re.compile(r"[0-9a-f]{64}")
_CURVES = frozenset({"sigmoid", "table", "constant"})
"""Windows that are not ramps, which the parameters of a copy only approximate."""
_WHITE = 255
"""Grey value of the digits on an image with numbered boxes."""
_CLOSE = 1
"""Grey levels by which a copy under the window of its image may differ from it: if the recipe has
fewer digits than the build had, ties may be rounded differently.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOrder:
    """The images of one case that need copies.

    Attributes:
        job: the case.
        samples: its images.
        recipes: recipe of each.
        root: the workspace that holds them.
        folder: folder of the copies.
    """

    job: RenderJob
    samples: tuple[Sample, ...]
    recipes: tuple[Mapping[str, Any], ...]
    root: Path
    folder: Path


def plane_path(folder: Path, digest: str) -> Path:
    """Return the path of a slice, which depends only on its digest."""
    if not DIGEST.fullmatch(digest):
        raise ValueError("the digest of a slice has 64 hexadecimal digits")
    return folder / digest[:2] / f"{digest}.png"


CopyResult = tuple[list[Mapping[str, Any]], list[str]]
"""Rows of the table, and failures."""


def copy_case(order: CopyOrder) -> CopyResult:
    """Copy all wanted images of one case; an unreadable file affects only these."""
    with using(order.job.vocabulary):
        return _copy_case(order)


def _copy_case(order: CopyOrder) -> CopyResult:
    rows: list[Mapping[str, Any]] = []
    faults: list[str] = []
    try:
        volume, index = _stacked(order.job, open_volume(order.job, order.job.case.images[0]))
        for sample, recipe in zip(order.samples, order.recipes, strict=True):
            row = {
                "sample": sample.id,
                "recipe": sample.recipe,
                "picture": sample.pixel_sha256,
                "format": FORMAT,
            }
            if volume.colour or volume.slices.dtype.itemsize == 1:
                rows.append({**row, "slices": []})  # the image itself shows everything
                continue
            try:
                place = int(sample.frames) if index is None else index
                rows.append({**row, **_copy(order, sample, recipe, volume, place)})
            except ReadError as error:
                faults.append(fault_of(sample, str(error)))
    except (MedrcubeError, OSError, MemoryError) as error:
        reason = str(error) if isinstance(error, MedrcubeError) else type(error).__name__
        faults += [fault_of(sample, reason) for sample in order.samples]
    except Exception as error:  # noqa: BLE001  # a broken file must not end a build of thousands
        faults += [
            fault_of(sample, f"unexpected {type(error).__name__}") for sample in order.samples
        ]
    return rows, faults


def _stacked(job: RenderJob, volume: Volume) -> tuple[Volume, int | None]:
    """Return a slice stacked with its neighbours on the same grid, and its index in the stack.

    The index is ``None`` if the volume itself is a stack. A neighbour that cannot be read, or has
    another grid or other grey values, ends the stack on its side: a gap would mislead.
    """
    case = job.case
    if volume.slices.shape[0] != 1:
        return volume, None
    if not case.series or len(case.images) != 1:
        return volume, 0
    own = case.images[0]
    try:
        files = in_slice_order(case.series)
        place = files.index(own.paths[0])
    except (MedrcubeError, OSError, ValueError):
        return volume, 0
    sides = (files[max(0, place - NEIGHBOURS) : place][::-1], files[place + 1 :][:NEIGHBOURS])
    before, after = (
        list(
            takewhile(
                lambda plane: plane is not None,
                (_neighbour(job, own, path, volume) for path in side),
            )
        )
        for side in sides
    )
    planes = [*before[::-1], volume.slices[0], *after]
    stack = np.stack([np.asarray(plane) for plane in planes])
    return replace(volume, slices=stack, solid=True), len(before)


def _neighbour(job: RenderJob, own: ImageRef, path: Path, volume: Volume) -> NDArray[Any] | None:
    """Return a slice with the same grid and pixel semantics as the volume; else ``None``."""
    try:
        other = open_volume(job, replace(own, paths=(path,)))
    except (MedrcubeError, OSError):
        return None
    alike = (
        (other.slices.shape, other.slices.dtype) == (volume.slices.shape, volume.slices.dtype)
        and _scale(other) == _scale(volume)
        and (other.spacing or ())[1:] == (volume.spacing or ())[1:]
    )
    return np.asarray(other.slices[0]) if alike else None


def _scale(volume: Volume) -> tuple[float, float, bool]:
    return volume.greys.slope, volume.greys.intercept, volume.greys.inverted


def _copy(
    order: CopyOrder, sample: Sample, recipe: Mapping[str, Any], volume: Volume, index: int
) -> Mapping[str, Any]:
    part = tuple(recipe["mark"].get("window") or ()) or None
    numbers = recipe["grey"][0]
    size = picture_size(volume, order.job.policy, volume.slices.shape[1:3])
    copy = viewer_copy(
        volume,
        index,
        numbers,
        size=size,
        part=part,
        hounsfield=Modality(sample.modality).hounsfield,
    )
    if numbers["window"] not in _CURVES:
        _check_same(copy, order.root / sample.image)
    projection = Modality(sample.modality).projection
    return {
        **copy.facts,
        "projection": projection,
        "slices": [_write(order.folder, plane) for plane in copy.planes],
    }


def _check_same(copy: ViewerCopy, path: Path) -> None:
    """Reject a copy that does not reproduce its image; a wrong slice would mislead its readers.

    A resampled part of an image is not compared: its border pixels have other neighbours.
    """
    with Image.open(path, formats=("PNG",)) as image:
        picture = np.asarray(image)
    left, top, width, height = copy.facts["place"]
    plane = copy.planes[copy.facts["own"]]
    size = (round(height), round(width))
    if (left, top) != (0, 0) and plane.shape != size:
        return
    grey = resample_picture(_under_window(plane, copy.facts), size)
    plain = picture if picture.ndim == 2 else picture[..., 0]
    alike = np.ones(plain.shape, np.bool_)
    if picture.ndim == 3:
        alike = (picture == picture[..., :1]).all(axis=2) & (plain < _WHITE)
    if grey.shape != plain.shape:
        raise ReadError("has another size than the image; build again", code="not-the-picture")
    apart = np.abs(grey.astype(np.int16) - plain)[alike]
    if apart.size and apart.max() > _CLOSE:
        raise ReadError(
            f"differs from the image by {apart.max()} grey levels under its window, expected at "
            f"most {_CLOSE}; build again",
            code="not-the-picture",
        )


def _under_window(plane: NDArray[np.uint16], facts: Mapping[str, Any]) -> NDArray[np.uint8]:
    low, high = facts["window"]
    values = plane * facts["slope"] + facts["intercept"]
    shade = (np.clip(values, low, high) - low) * 255.0 / (high - low)
    grey = 255.0 - np.ceil(shade - 0.5) if facts["inverted"] else np.floor(shade + 0.5)
    return np.asarray(grey, np.uint8)


def _write(folder: Path, plane: NDArray[np.uint16]) -> str:
    data = encode_png(plane)
    digest = sha256(data).hexdigest()
    path = plane_path(folder, digest)
    if not path.is_file() or path.stat().st_size != len(data):
        private_folder(path.parent)
        with replacing(path, sync=False, mode=PRIVATE) as temporary:
            temporary.write_bytes(data)
    return digest


def fault_of(sample: Sample, reason: str) -> str:
    """Return why an image has no copy, in words."""
    return f"{sample.source}: {escape_bytes(sample.case)}: no viewer copy: {escape_bytes(reason)}"
