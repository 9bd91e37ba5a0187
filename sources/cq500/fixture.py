"""Ten synthetic exams: each type of bleed, none, readers who disagree, contrast, no folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.dicom import Series, write_series
from medrcube.sources._synthetic.head import head_ct
from medrcube.sources._synthetic.images import CANARY, bounds, write_lines
from medrcube.sources._synthetic.shapes import places, radius

SIDE, SLICES = 128, 20
KINDS = {
    "EDH": "Epidural",
    "IVH": "Intraventricular",
    "SDH": "Subdural",
    "SAH": "Subarachnoid",
    "IPH": "Intraparenchymal",
}
COLUMNS = (
    *("ICH", "IPH", "IVH", "SDH", "EDH", "SAH", "BleedLocation-Left", "BleedLocation-Right"),
    *("ChronicBleed", "Fracture", "CalvarialFracture", "OtherFracture"),
    *("MassEffect", "MidlineShift"),
)
EXAMS = (
    ("ICH EDH Fracture CalvarialFracture",) * 3,
    ("ICH IVH",) * 3,
    ("ICH SDH MassEffect MidlineShift",) * 3,
    ("ICH SAH", "ICH SAH", "ICH SAH Fracture OtherFracture"),
    ("ICH IPH MassEffect",) * 3,
    ("",) * 3,
    ("",) * 3,
    ("ICH SDH", "ICH SDH", ""),  # a majority
    ("ChronicBleed", "ChronicBleed", "ChronicBleed"),
    ("",) * 3,  # no folder
)
"""What the three readers found in each exam."""


def build(root: Path, layout: str) -> None:
    """Write the exams that have a folder, the reads and the boxes."""
    del layout
    boxes = ["SOPInstanceUID,x,y,width,height,labelName"]
    for number, reads in enumerate(EXAMS[:-1]):
        kinds = [name for column, name in KINDS.items() if column in reads[0].split()]
        plain = _series(number, "plain", kinds)
        folder = root / f"CQ500CT{number} CQ500CT{number}/Unknown Study"
        _write(folder / "CT 55mm Plain", plain, "5/5mm Plain")
        boxes += _boxes(number, plain, kinds)
        if number in {4, 5, 6}:
            thin = _series(number, "thin", kinds, side=96)
            _write(folder / "CT C THIN", _enhanced(thin), "+C THIN")
    write_series(  # a localiser of two slices
        folder / "CT", _cut(plain), pattern="CT{:06}.dcm", SeriesDescription="SCOUT"
    )
    write_lines(root / "1_Initial_Manual_Labeling.csv", boxes)
    header = ("name", "Category", *(f"R{r}:{c}" for r in (1, 2, 3) for c in COLUMNS))
    rows = [
        (
            f"CQ500-CT-{number}",
            "B2",
            *(str(int(c in marks.split())) for marks in reads for c in COLUMNS),
        )
        for number, reads in enumerate(EXAMS)
    ]
    write_lines(root / "reads.csv", [",".join(row) for row in (header, *reversed(rows))])


def _write(folder: Path, series: Series, description: str) -> None:
    """File numbers run against the slices, as in the real data they follow nothing."""
    write_series(folder, series, pattern="CT{:06}.dcm", SeriesDescription=description)


def _series(number: int, name: str, kinds: list[str], *, side: int = SIDE) -> Series:
    bleeds = frozenset(kind.lower() for kind in kinds)
    volume = [
        head_ct(
            side,
            side,
            seed=number,
            level=_level(k),
            bleeds=bleeds if k in _bleeding(number) else frozenset(),
        )
        for k in range(SLICES)
    ]
    return Series(
        name=f"cq500 {number} {name}",
        patient=f"{CANARY}{number}",
        volume=np.stack(volume).astype(np.int16),
        spacing=(5.0, 200 / side),
    )


def _enhanced(series: Series) -> Series:
    """With contrast medium in the falx, and in arteries beside the midline."""
    y, x = places(*series.volume.shape[1:])
    falx = (np.abs(x - 0.5) < 0.008) & (np.abs(y - 0.5) > 0.15) & (np.abs(y - 0.5) < 0.36)
    arteries = [radius(y, x, (0.42, 0.5 + side, 0.012, 0.035)) < 1 for side in (-0.13, 0.13)]
    vessels = falx | arteries[0] | arteries[1]
    return replace(series, volume=np.where(vessels, 150, series.volume).astype(np.int16))


def _cut(series: Series) -> Series:
    return Series(name="cq500 scout", patient=series.patient, volume=series.volume[:2])


def _bleeding(number: int) -> range:
    """Slices with blood, at another level in each exam."""
    return range(5 + number, 10 + number)


def _level(k: int) -> float:
    return -0.5 + 1.3 * k / SLICES


def _boxes(number: int, series: Series, kinds: list[str]) -> Iterator[str]:
    for k in _bleeding(number) if kinds else ():
        clear = head_ct(SIDE, SIDE, seed=number, level=_level(k))
        x0, y0, x1, y1 = bounds(series.volume[k] - clear > 15)
        for kind in kinds:
            yield f"{series.slice_uid(k)},{x0},{y0},{x1 - x0},{y1 - y0},{kind}"
    if number == 8:
        yield f"{series.slice_uid(10)},30,30,20,20,Chronic"
