"""pydicom as its manual shows it: modality LUT, VOI LUT, 8 bit, Pillow with its defaults."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import numpy as np
import timing
from PIL import Image
from pydicom import dcmread
from pydicom.pixels import apply_modality_lut, apply_voi_lut


def work(data: Path, out: Path) -> int:
    paths = sorted(data.iterdir()) if data.is_dir() else [data]
    for path in paths:
        header = dcmread(path)
        values = apply_voi_lut(apply_modality_lut(header.pixel_array, header), header)
        low, high = values.min(), values.max()
        grey = ((values - low) / (high - low) * 255).astype(np.uint8)
        Image.fromarray(grey).save(out / f"{path.stem}.png")
    return len(paths)


timing.measure_each(work)
