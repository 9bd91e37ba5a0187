"""The loop that most scripts hold, and the same at its best: ``python nifti_loop.py DATA OUT ...``.

As used: ``get_fdata``, a window in floating point, Pillow with its defaults. At its best: stored
values, one look-up table where there is one, and Pillow at level 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import nibabel
import numpy as np
import timing
from PIL import Image

_CT = (-160.0, 240.0)


def main() -> None:
    parser = timing.arguments()
    parser.add_argument("--window", default="ct:mediastinum")
    parser.add_argument("--best", action="store_true")
    args = parser.parse_args()
    work = _best if args.best else _as_used
    timing.serve(lambda: work(args.data, args.out, args.window), args.out)


def _as_used(data: Path, out: Path, window: str) -> int:
    volume = nibabel.load(data).get_fdata()
    low, high = _CT if window.startswith("ct") else np.percentile(volume, _shares(window))
    for k in range(volume.shape[2]):
        grey = (np.clip(volume[:, :, k], low, high) - low) / (high - low) * 255
        Image.fromarray(grey.T.astype(np.uint8)).save(out / f"{k:04}.png")
    return int(volume.shape[2])


def _best(data: Path, out: Path, window: str) -> int:
    image = nibabel.load(data)
    voxels = np.asarray(image.dataobj.get_unscaled())
    slope, intercept = image.dataobj.slope, image.dataobj.inter
    table = None
    if voxels.dtype.kind == "f":
        low, high = np.percentile(voxels, _shares(window))
        scale = np.float32(255 / (high - low))
    else:
        bits = 8 * voxels.dtype.itemsize
        values = np.arange(1 << bits).astype(f"u{voxels.dtype.itemsize}").view(voxels.dtype)
        if window.startswith("ct"):
            low, high = _CT
        else:
            patterns = voxels.view(f"u{voxels.dtype.itemsize}").ravel(order="K")
            counts = np.bincount(patterns, minlength=1 << bits)
            order = np.argsort(values, kind="stable")
            reached = np.cumsum(counts[order]) / voxels.size * 100
            places = np.searchsorted(reached, _shares(window))
            low, high = values[order[places]] * slope + intercept
        units = np.clip(values * slope + intercept, low, high)
        table = ((units - low) / (high - low) * 255).astype(np.uint8)
    for k in range(voxels.shape[2]):
        part = voxels[:, :, k].T
        if table is None:
            grey = ((np.clip(part, low, high) - np.float32(low)) * scale).astype(np.uint8)
        else:
            grey = table[part.view(f"u{part.dtype.itemsize}")]
        Image.fromarray(grey).save(out / f"{k:04}.png", compress_level=1)
    return int(voxels.shape[2])


def _shares(window: str) -> list[float]:
    """The shares of ``percentile:1-99``."""
    return [float(share) for share in window.partition(":")[2].split("-")]


main()
