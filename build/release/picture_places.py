"""Places of images in a release tree."""

from __future__ import annotations

from pathlib import Path

from medrcube.build.stages.samples import Sample
from medrcube.release_format.tree import dataset_name

__all__ = ["PICTURES", "picture_path", "picture_place"]

PICTURES = "pictures"
"""Folder of the images of one source."""


def picture_path(sample: Sample) -> str:
    """Return the path of an image relative to the folder of its source."""
    return f"{PICTURES}/{Path(sample.image).name}"


def picture_place(sample: Sample) -> str:
    """Return the path of an image relative to the root of the release."""
    return f"{dataset_name(sample.source)}/{picture_path(sample)}"
