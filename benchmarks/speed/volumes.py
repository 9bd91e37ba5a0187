"""Synthetic volumes as NIfTI: CT with noise and with uniform parts, MR in three types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from data import ct_volume, ellipse, smooth
from numpy.typing import NDArray

__all__ = ["write_ct", "write_mr", "write_uniform_ct"]

_CT = np.diag([-0.7, -0.7, 1.25, 1.0])
_MR = np.diag([-0.9, -0.9, 3.0, 1.0])
_HIGHEST = {"uint8": 255, "int16": 3000, "float32": 1.0}


def write_ct(folder: Path, slices: int) -> None:
    """A chest of ``slices`` slices of 512 x 512 with noise everywhere, packed and plain."""
    image = nibabel.Nifti1Image(ct_volume(slices).T, _CT)
    nibabel.save(image, folder / "ct.nii.gz")
    if slices == 200:
        (folder / "plain").mkdir()
        nibabel.save(image, folder / "plain" / "ct.nii")


def write_uniform_ct(folder: Path, slices: int) -> None:
    """The same chest as after segmentation: noise in the middle, one value around it."""
    volume = ct_volume(slices)
    volume[:, ~ellipse((512, 512), 0.2, 0.3)] = -1024
    nibabel.save(nibabel.Nifti1Image(volume.T, _CT), folder / "ct.nii.gz")


def write_mr(folder: Path, slices: int, side: int, kind: str) -> None:
    """A head with noise that grows with the signal, in air with a little noise."""
    rng = np.random.default_rng(9)
    shape = (side, side)
    volume = np.empty((slices, *shape), kind)
    for k in range(slices):
        swell = 0.04 * np.sin(k * np.pi / slices)
        signal = np.full(shape, 0.01, np.float32)
        signal[ellipse(shape, 0.40 + swell, 0.33)] = 0.75
        signal[ellipse(shape, 0.36 + swell, 0.29)] = 0.35
        signal[ellipse(shape, 0.20 + swell, 0.17)] = 0.5
        signal[ellipse(shape, 0.06 + swell, 0.05)] = 0.12
        noise: NDArray[Any] = smooth(rng.standard_normal(shape, np.float32), 1)
        grey = np.clip(signal + 0.02 * noise, 0, 1) * _HIGHEST[kind]
        volume[k] = grey if kind == "float32" else np.rint(grey)
    nibabel.save(nibabel.Nifti1Image(volume.T, _MR), folder / "mr.nii.gz")
