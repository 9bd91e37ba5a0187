"""Synthetic four-chamber clips: every band of the EF, and each reason to set a video aside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.echo import apical_view
from medrcube.sources._synthetic.images import write_clip, write_lines

EJECTIONS = {"0X1A": 62.1, "0X2B": 47.3, "0X3C": 35.0, "0X4D": 21.9, "0X5E": 71.5, "0X6F": 41.2}
CONTRADICTED = {"0XAD": 35.0}
"""A fraction of 61 by its own volumes."""
FRAMES = 6
SIDE = 112
_DIASTOLE = 26.0
"""Half of the long axis of a full ventricle, in pixels."""


def build(root: Path, layout: str) -> None:
    """Write seven clips, one untraced, one of odd size and one with a crossing outline."""
    del layout
    top = root / "EchoNet-Dynamic"
    files = ["FileName,EF,ESV,EDV,FrameHeight,FrameWidth,FPS,NumberOfFrames,Split"]
    traces = ["FileName,X1,Y1,X2,Y2,Frame"]
    for seed, (name, ejection) in enumerate((EJECTIONS | CONTRADICTED).items()):
        ed, es = (1, 4) if seed % 2 else (4, 1)
        split = ("TRAIN", "VAL", "TEST")[seed % 3]
        end_systolic = 32.0 if name in CONTRADICTED else 82.0 * (1 - ejection / 100)
        files.append(f"{name},{ejection},{end_systolic:.1f},82.0,112,112,50,{FRAMES},{split}")
        sizes = [_DIASTOLE if frame == ed else _systole(ejection) for frame in range(FRAMES)]
        clip = [_frame(seed, size, frame) for frame, size in enumerate(sizes)]
        write_clip(top / f"Videos/{name}.avi", clip, codec="mjpeg")
        for frame in sorted((ed, es)):
            traces += _trace(f"{name}.avi", frame, sizes[frame])
    for name, size in (("0X7A", 112), ("0X8B", 768), ("0X9C", 112)):
        files.append(f"{name},60.0,30.0,75.0,{size},{size},50,{FRAMES},TRAIN")
        write_clip(top / f"Videos/{name}.avi", [_frame(9, 20, 0)] * 2, codec="mjpeg")
    for frame, size in ((1, 26), (4, 18)):
        rows = _trace("0X9C.avi", frame, size)
        name, x1, y1, x2, y2, number = rows[5].split(",")
        rows[5] = f"{name},{x2},{y2},{x1},{y1},{number}"
        traces += rows
    write_lines(top / "FileList.csv", files)
    write_lines(top / "VolumeTracings.csv", traces)


def _systole(ejection: float) -> float:
    """Half of the long axis of a ventricle of one shape that has ejected so many percent."""
    return float(_DIASTOLE * (1 - ejection / 100) ** (1 / 3))


def _frame(seed: int, size: float, frame: int) -> NDArray[np.uint8]:
    """A frame whose cavity has half axes of ``size`` rows and half as many columns."""
    cavity = (50.5 / SIDE, 68.5 / SIDE, size / SIDE, size / 2 / SIDE)
    return apical_view(SIDE, SIDE, seed=seed, cavity=cavity, valve=0.7, noise=frame)


def _trace(name: str, frame: int, size: float) -> list[str]:
    """Long axis from the apex down, then chords from left to right."""
    rows = [f"{name},68.0,{50 - size:.3f},68.0,{50 + size:.3f},{frame}"]
    for step in np.linspace(-0.95, 0.95, 20):
        half, y = size / 2 * np.sqrt(1 - step**2), 50 + size * step
        rows.append(f"{name},{68 - half:.3f},{y:.3f},{68 + half:.3f},{y:.3f},{frame}")
    return rows
