"""The decoder alone: openjpeg on the bytes of one frame in memory. No file, no window, no PNG."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import timing
from openjpeg.utils import decode_pixel_data
from pydicom import dcmread
from pydicom.encaps import get_frame

_DATA = dcmread(timing.arguments().parse_args().data).PixelData
_FRAME = get_frame(_DATA, 0, number_of_frames=1)


def work(_data: Path, _out: Path) -> int:
    decode_pixel_data(_FRAME, version=2)
    return 1


timing.measure_each(work)
