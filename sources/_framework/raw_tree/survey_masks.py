"""Survey of the masks of an unknown raw tree, detected by name and number of distinct values."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from medrcube.sources._framework.raw_tree.pixel_files import RASTERS, stem_of, suffix_of

__all__ = ["is_mask", "mask_patterns", "mask_values"]

_SAMPLE = 5
_MOST_VALUES = 32
_MOST_VOXELS = 64_000_000
_NIFTI = (".nii", ".nii.gz")
_MASK_WORDS = "masks?|msk|segs?|segmentations?|labels?|annotations?|gt|ground[-_ ]?truth"
_MASK = (
    r"(?:[-_ ]?(?:mask|seg|segmentation|label|gt)"
    rf"|[-_ ](?:{_MASK_WORDS}|roi|contour|outline))(?:[-_ ]?\d+)?$"
)
_MASK_FOLDER = (
    r"(?!.*[-_ ](?:and|with)[-_ ])(?:.*[-_ ])?"
    rf"(?:{_MASK_WORDS}|rois?|contours?|outlines?)(?:Tr|Ts)?"
)
_TAIL = re.compile(r"[-_ ]([a-z]+)[-_ ]?\d*$", re.IGNORECASE)


def is_mask(name: str, mask: str, folder: str) -> bool:
    """Whether a file is named like a mask or lies in a mask folder."""
    parent = PurePosixPath(name).parent.name
    return bool(
        re.search(mask, stem_of(name), re.IGNORECASE) or re.fullmatch(folder, parent, re.IGNORECASE)
    )


def mask_patterns(root: Path, pixels: Sequence[str]) -> tuple[str, str]:
    """Return regular expressions for mask stems and mask folders, from known and observed words.

    An observed word counts if it follows the stems of other images in the folder and the first
    images that end with it have two distinct values.
    """
    stems = {name[: len(name) - len(suffix_of(name))] for name in pixels}
    groups: dict[str, list[str]] = {}
    for name in pixels:
        tail = _TAIL.search(stem_of(name))
        if suffix_of(name) in RASTERS and tail is not None:
            whole = name[: len(name) - len(suffix_of(name))]
            if whole[: len(whole) - len(tail.group())] in stems:
                groups.setdefault(tail.group(1).lower(), []).append(name)
    words = [
        re.escape(word)
        for word, members in sorted(groups.items())
        if not re.search(_MASK, f"_{word}", re.IGNORECASE)
        and all(_has_two_values(root / name) for name in members[:_SAMPLE])
    ]
    own = rf"|[-_ ](?:{'|'.join(words)})[-_ ]?\d*$" if words else ""
    return f"{_MASK}{own}", _MASK_FOLDER


def _has_two_values(path: Path) -> bool:
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415

    try:
        with Image.open(path) as image:
            return image.getcolors(2) is not None
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError):
        return False


def mask_values(root: Path, masks: Sequence[str]) -> tuple[float, ...]:
    """Return the values stored in the first NIfTI and image masks, ascending; empty if many."""
    values: set[float] = set()
    for name in masks[:_SAMPLE]:
        suffix = suffix_of(name)
        if suffix in _NIFTI:
            values.update(_nifti_values(root / name))
        elif suffix in RASTERS:
            values.update(_raster_values(root / name))
    return tuple(sorted(values)) if len(values) <= _MOST_VALUES else ()


def _nifti_values(path: Path) -> Collection[float]:
    import nibabel  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    library: Any = nibabel
    try:
        image = library.load(path)
        if math.prod(map(int, image.shape)) > _MOST_VOXELS:
            return ()
        return [float(value) for value in np.unique(np.asarray(image.dataobj))]
    except (OSError, EOFError, ValueError, zlib.error, library.filebasedimages.ImageFileError):
        return ()


def _raster_values(path: Path) -> Collection[float]:
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415

    try:
        with Image.open(path) as image:
            colours = image.getcolors(_MOST_VALUES) if image.mode in {"1", "L", "P", "I"} else None
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError):
        return ()
    return [float(value) for _, value in colours or () if not isinstance(value, tuple)]
