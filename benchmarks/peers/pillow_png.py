"""Pillow's PNG at its default level, of an image that is ready: no reading, no window."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import numpy as np
import timing
from PIL import Image
from pydicom import dcmread

_HEADER = dcmread(timing.arguments().parse_args().data)
_GREY = Image.fromarray((_HEADER.pixel_array >> (_HEADER.BitsStored - 8)).astype(np.uint8))


def work(_data: Path, out: Path) -> int:
    _GREY.save(out / "radiograph.png")
    return 1


timing.measure_each(work)
