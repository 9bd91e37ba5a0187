"""Synthetic hearts with calcium in each artery; ImageIndex counts in several ways."""

from __future__ import annotations

import plistlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_ct import chest
from medrcube.sources._synthetic.dicom import Series, outline_of, write_series
from medrcube.sources._synthetic.images import CANARY, write_lines

TOP = "cocacoronarycalciumandchestcts-2"
SERIES = "Pro_Gated_CS_3.0_I30f_3_70%"
PLACES = {
    "Right Coronary Artery": (39, 43),
    "Left Anterior Descending Artery": (29, 57),
    "Left Circumflex Artery": (46, 64),
    "Left Coronary Artery": (34, 53),
}
"""Row and column of the calcium of each artery."""

RCA, LAD, LCX, LM = PLACES


@dataclass(frozen=True, slots=True)
class _Mark:
    """Calcium of an artery on some slices, which grows towards the last."""

    artery: str
    slices: tuple[int, ...]
    radius: float = 2.4


SCANS: Mapping[int, Sequence[_Mark] | None] = {
    0: (_Mark(RCA, (3, 4)),),
    1: (_Mark(LAD, (4, 5)),),
    2: (_Mark(LCX, (3, 4)),),
    3: (_Mark(RCA, (4,)), _Mark(LCX, (4,)), _Mark(LAD, (2,))),
    4: (_Mark(LM, (4, 5)),),
    5: None,  # the list of marks is missing
    6: (),  # it holds none
    7: (_Mark(RCA, (4,), 0.6),),
    8: (_Mark(LAD, (5,)), _Mark(RCA, (5,))),
    10: (_Mark(RCA, (4, 5)),),
    11: (_Mark(LCX, (4, 5)),),
    12: (_Mark(LAD, (3, 4)),),
}


def build(root: Path, layout: str) -> None:
    """Write scans, lists of marks, and one scan of the other part."""
    del layout
    gated = root / TOP / "Gated_release_final"
    for number, marks in SCANS.items():
        series = Series(name=f"coca-{number}", patient=CANARY, volume=_volume(number, marks or ()))
        folder = gated / "patient" / str(number) / SERIES
        write_series(folder, series, pattern="IM-0001-{:04}.dcm", InstitutionName=CANARY)
        if marks is not None:
            images = list(_images(series, marks, start=number % 2))
            path = gated / "calcium_xml" / f"{number}.xml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(plistlib.dumps({"Images": images}))
    other = root / TOP / "deidentified_nongated"
    write_series(other / "1" / "1", Series(name="ng", patient=CANARY, volume=chest(seed=70)[:2]))
    write_lines(other / "scores.xlsx", [CANARY])


def _disc(artery: str, radius: float) -> NDArray[np.bool_]:
    row, column = PLACES[artery]
    rows, columns = np.mgrid[0:96, 0:96]
    return np.asarray((rows - row) ** 2 + (columns - column) ** 2 <= radius**2)


def _volume(number: int, marks: Sequence[_Mark]) -> NDArray[np.int16]:
    volume = chest(seed=70 + number)
    for mark in marks:
        for place, k in enumerate(mark.slices):
            volume[k][_disc(mark.artery, mark.radius + 0.6 * place)] = 520
    return volume


def _images(series: Series, marks: Sequence[_Mark], *, start: int) -> Iterator[dict[str, Any]]:
    """One entry a slice, counted from the foot."""
    for k in range(len(series.volume)):
        rois = [
            _roi(series, k, mark.artery, _disc(mark.artery, mark.radius + 0.6 * place))
            for mark in marks
            for place, own in enumerate(mark.slices)
            if own == k
        ]
        if rois:
            rois.append(
                {**rois[0], "Area": 0.0, "NumberOfPoints": 0, "Point_px": [], "Point_mm": []}
            )
            yield {"ImageIndex": k + start, "NumberOfROIs": len(rois), "ROIs": rois}


def _roi(series: Series, k: int, artery: str, mask: NDArray[np.bool_]) -> dict[str, Any]:
    points = outline_of(mask)
    x0, y0, z = series.position(k)
    step = series.spacing[1]
    return {
        "Name": artery,
        "Area": float(mask.sum()) * step**2 / 100,
        "NumberOfPoints": len(points),
        "Point_px": [f"({x:f}, {y:f})" for x, y in points],
        "Point_mm": [f"({x0 + step * x:f}, {y0 + step * y:f}, {z:f})" for x, y in points],
    }
