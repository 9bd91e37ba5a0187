"""Places of images in a release tree."""

from __future__ import annotations

from pathlib import PurePosixPath

from medrcube.build.stages.samples import Sample
from medrcube.release_format.tree import PICTURES, dataset_name

__all__ = ["picture_path", "picture_place"]


def picture_path(sample: Sample) -> str:
    """Return the path of an image relative to the folder of its source.

    It has the subfolders that the image has in the workspace, below ``images/SOURCE``.
    """
    return f"{PICTURES}/{'/'.join(PurePosixPath(sample.image).parts[2:])}"


def picture_place(sample: Sample) -> str:
    """Return the path of an image relative to the root of the release."""
    return f"{dataset_name(sample.source)}/{picture_path(sample)}"
