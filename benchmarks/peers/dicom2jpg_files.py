"""dicom2jpg, to PNG, in one process as everything that is compared here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import dicom2jpg
import timing


def work(data: Path, out: Path) -> int:
    dicom2jpg.dicom2png(str(data), target_root=str(out), anonymous=True, multiprocessing=False)
    return len(list(out.rglob("*.png")))


timing.measure_each(work)
