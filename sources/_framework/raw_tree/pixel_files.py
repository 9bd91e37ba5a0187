"""Names of pixel files."""

from __future__ import annotations

from pathlib import PurePosixPath

__all__ = ["DICOMS", "RASTERS", "VIDEOS", "VOLUMES", "stem_of", "suffix_of"]

RASTERS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff")
VOLUMES = (".nii.gz", ".nii", ".mhd", ".mha", ".nrrd", ".nhdr")
DICOMS = (".dcm", ".dicom", ".ima")
VIDEOS = (".avi", ".mp4", ".mov", ".mpeg", ".mpg")


def suffix_of(name: str) -> str:
    """Return the suffix in lower case; ``.nii.gz`` counts as one suffix."""
    file = PurePosixPath(name.lower())
    return ".nii.gz" if file.name.endswith(".nii.gz") else file.suffix


def stem_of(name: str) -> str:
    """Return the file name without folder and suffix."""
    file = PurePosixPath(name).name
    suffix = suffix_of(name)
    return file[: len(file) - len(suffix)] if suffix else file
