"""pydicom as its manual shows it, and at its best: ``python dicom_loop.py DATA OUT ...``.

As used: modality LUT, VOI LUT, 8 bit, Pillow with its defaults. At its best: pixels as they are
stored, one look-up table for all files of a series, and Pillow at level 1; files in the order of
their names, without a check that they belong together.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import numpy as np
import timing
from PIL import Image
from pydicom import dcmread
from pydicom.pixels import apply_modality_lut, apply_voi_lut


def main() -> None:
    parser = timing.arguments()
    parser.add_argument("--best", action="store_true")
    args = parser.parse_args()
    paths = sorted(args.data.iterdir()) if args.data.is_dir() else [args.data]
    work = _best if args.best else _as_used
    timing.serve(lambda: work(paths, args.out), args.out)


def _as_used(paths: list[Path], out: Path) -> int:
    for path in paths:
        header = dcmread(path)
        values = header.pixel_array
        if values.ndim == 2:
            values = apply_voi_lut(apply_modality_lut(values, header), header)
            low, high = values.min(), values.max()
            values = ((values - low) / (high - low) * 255).astype(np.uint8)
        Image.fromarray(values).save(out / f"{path.name}.png")
    return len(paths)


def _best(paths: list[Path], out: Path) -> int:
    table = None
    for path in paths:
        header = dcmread(path)
        pixels = header.pixel_array
        if pixels.ndim == 2:
            patterns = pixels.view(f"u{pixels.dtype.itemsize}")
            if table is None:
                table = _table(header, pixels)
            pixels = table[patterns]
        Image.fromarray(pixels).save(out / f"{path.name}.png", compress_level=1)
    return len(paths)


def _table(header: object, pixels: np.ndarray) -> np.ndarray:
    """Grey of every stored value, by the first window, or by the range of the first image."""
    bits = 8 * pixels.dtype.itemsize
    values = np.arange(1 << bits).astype(f"u{pixels.dtype.itemsize}").view(pixels.dtype)
    slope = float(getattr(header, "RescaleSlope", 1))
    intercept = float(getattr(header, "RescaleIntercept", 0))
    centre, width = (getattr(header, name, None) for name in ("WindowCenter", "WindowWidth"))
    if centre is None:
        low, high = (float(end) * slope + intercept for end in (pixels.min(), pixels.max()))
    else:
        centre, width = (float(np.atleast_1d(number)[0]) for number in (centre, width))
        low, high = centre - width / 2, centre + width / 2
    units = np.clip(values * slope + intercept, low, high)
    return ((units - low) / (high - low) * 255).astype(np.uint8)


main()
