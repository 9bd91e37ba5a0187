"""The loop that most scripts hold: get_fdata, a window, Pillow with its defaults."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import nibabel
import numpy as np
import timing
from PIL import Image


def work(data: Path, out: Path) -> int:
    volume = nibabel.load(data).get_fdata()
    for k in range(volume.shape[2]):
        grey = (np.clip(volume[:, :, k], -160, 240) + 160) / 400 * 255
        Image.fromarray(grey.T.astype(np.uint8)).save(out / f"{k:04}.png")
    return int(volume.shape[2])


timing.measure_each(work)
