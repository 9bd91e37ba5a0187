"""Phantoms in the format of a file name, for fixtures of new sources."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.images import (
    lesion,
    picture,
    write_clip,
    write_dicom,
    write_metaimage,
    write_nifti,
    write_picture,
)

__all__ = [
    "write_example",
    "write_example_mask",
]

HEIGHT, WIDTH, SLICES = 120, 140, 6


def write_example(path: Path, *, seed: int, place: int | None = None) -> None:
    """Write one image, volume or clip with a lesion in the format of its suffix.

    DICOM files in one folder form a series, one slice each, ordered by ``place``.

    Args:
        path: target; ``.png``, ``.jpg`` and other images, ``.dcm``, ``.nii``, ``.nii.gz``,
            ``.mhd``, ``.nrrd``, a video, or no suffix for DICOM; parents are made.
        seed: seed of the image.
        place: index of a DICOM slice in its series, by default the seed; slices of several series
            with the same index are in the same plane.
    """
    name = path.name.lower()
    grey = picture(HEIGHT, WIDTH, seed=seed)
    if name.endswith((".nii", ".nii.gz")):
        write_nifti(path, _stack(grey).astype(np.int16), spacing=(1, 1, 3), signs=(-1, -1, 1))
    elif name.endswith((".mhd", ".mha", ".nrrd", ".nhdr")):
        write_metaimage(path, _stack(grey).astype(np.int16), spacing=(1, 1, 3))
    elif name.endswith((".avi", ".mp4", ".mov", ".mpeg", ".mpg")):
        write_clip(path, [picture(HEIGHT, WIDTH, seed=seed + k).astype(np.uint8) for k in range(4)])
    elif _is_dicom(name):
        deep = picture(HEIGHT, WIDTH, seed=seed, maximum=4095)
        _write_slice(path, deep, seed if place is None else place)
    else:
        write_picture(path, grey.astype(np.uint8))


def write_example_mask(path: Path, *, seed: int, place: int | None = None) -> None:
    """Write the mask of the lesion in the image or volume with the same seed.

    A DICOM mask has the position of the ``write_example`` file with the same ``place``.
    """
    mask = lesion(HEIGHT, WIDTH, seed=seed)
    if path.name.lower().endswith((".nii", ".nii.gz")):
        write_nifti(path, _stack(mask).astype(np.uint8), spacing=(1, 1, 3), signs=(-1, -1, 1))
    elif path.suffix.lower() in {".mhd", ".mha", ".nrrd", ".nhdr"}:
        write_metaimage(path, _stack(mask).astype(np.uint8), spacing=(1, 1, 3))
    elif _is_dicom(path.name.lower()):
        _write_slice(path, mask.astype(np.uint8), seed if place is None else place)
    else:
        write_picture(path, np.where(mask, 255, 0).astype(np.uint8))


def _is_dicom(name: str) -> bool:
    return "." not in name or name.endswith((".dcm", ".dicom", ".ima"))


def _write_slice(path: Path, pixels: NDArray[np.generic], place: int) -> None:
    write_dicom(
        path,
        pixels,
        Modality="OT",
        SOPInstanceUID=_uid(path.as_posix()),
        SeriesInstanceUID=_uid(path.parent.as_posix()),
        InstanceNumber=place + 1,
        ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
        ImagePositionPatient=[0, 0, 3 * place],
        PixelSpacing=[1, 1],
    )


def _stack(flat: NDArray[np.generic]) -> NDArray[np.generic]:
    return np.stack([flat] * SLICES)


def _uid(text: str) -> str:
    return f"2.25.{int(hashlib.sha256(text.encode()).hexdigest()[:24], 16)}"
