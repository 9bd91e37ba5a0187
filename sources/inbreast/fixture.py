"""A synthetic INbreast: every grade, every spelling of a mark, both shapes of muscle files."""

from __future__ import annotations

import plistlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.breast import MUSCLE, mammogram
from medrcube.sources._synthetic.images import CANARY, bounds, lesion, write_dicom, write_lines
from medrcube.sources._synthetic.spreadsheets import Sheets, write_spreadsheet

HEIGHT, WIDTH = 150, 110
# Laterality, view, ACR, Bi-Rads, flags, names of marks.
ROWS: tuple[tuple[str, str, int | None, int | str, str, tuple[str, ...]], ...] = (
    ("R", "CC", 4, 1, "", ()),
    ("L", "MLO", 1, 1, "", ()),
    ("L", "CC", 2, 2, "Micros", ("Calcification", "Calcifications")),
    ("R", "MLO", 3, 3, "Mass", ("Mass",)),
    ("L", "MLO", 2, "4a", "Asymmetry", ("Assymetry",)),
    ("R", "CC", 2, "4b", "Asymmetry", ("Asymmetry", "Unnamed", "Point 1", "Point 3")),
    ("R", "MLO", None, "4c", "", ("Cluster",)),
    ("L", "CC", 3, 5, "Mass", ("Mass", "Spiculated Region")),
    ("L", "MLO", 3, 6, "Distortion", ("Distortion", "Espiculated Region")),
    ("R", "FB", 1, 2, "", ()),
)
FLAGS = ("Mass", "Micros", "Distortion", "Asymmetry")
FIRST = ["Patient ID", "Patient age", "Laterality", "View", "Acquisition date", "File Name", "ACR"]


def build(root: Path, layout: str) -> None:
    """Write images with the chest wall at an edge, outlines, and the sheet or the CSV."""
    rows: list[list[str | int | float | None]] = []
    for seed, (side, view, acr, birads, flags, names) in enumerate(ROWS):
        number = 20586908 + 52 * seed
        write_dicom(
            root / "AllDICOMs" / _name(number, seed, side, "ML" if view == "MLO" else view),
            _breast(seed, side, view, names),
            BitsStored=14,
            HighBit=13,
        )
        if names:
            marks = [_mark(name, seed, which) for which, name in enumerate(names)]
            _plist(root / f"AllXML/{number}.xml", {"Images": [_image(marks)]})
        if view == "MLO":
            line = _mark("Open Polygon", seed, 0) | {"Point_px": _muscle(side)}
            path = root / f"PectoralMuscle/Pectoral Muscle XML/{number}_muscle.xml"
            _plist(path, {**line, "DataSummary": {}} if seed % 4 else {"Images": [_image([line])]})
        cells: list[str | int | float | None] = [CANARY, CANARY, side, view, 201001, number]
        crosses = ["X" if flag in flags else None for flag in FLAGS]
        crosses[3] = " " if seed == 6 else crosses[3]  # one cell of the release is blank, not empty
        note = f"micros, {CANARY}" if "Micros" in flags else None
        rows.append([*cells, "   " if acr is None else acr, birads, *crosses, note])
    write_lines(root / "MedicalReports/1.txt", [CANARY])
    if layout == "csv":
        lines = [";".join(str(cell) for cell in row[:8]) for row in rows]
        write_lines(root / "INbreast.csv", [";".join([*FIRST, "Bi-Rads"]), *lines], newline="\r\n")
        return
    header = [*FIRST, "Bi-Rads", "Mass ", *FLAGS[1:], "Findings Notes (in Portuguese)"]
    totals = [*[None] * 8, 2, 1, 1, 2, None]
    sheets: Sheets = {
        "Sheet1": [header, *rows, [None] * 13, totals],
        # Some copies hold a list of people in another row order.
        "Sheet2": [["Patient", "Bi-Rads", "DG"], *([CANARY, row[7], CANARY] for row in rows[::-1])],
    }
    write_spreadsheet(root / "INbreast.xls", sheets)


def _name(number: int, seed: int, side: str, view: str) -> str:
    return f"{number}_{0x6C613A14B80A8591 + seed:016x}_MG_{side}_{view}_ANON.dcm"


def _breast(seed: int, side: str, view: str, names: Sequence[str]) -> NDArray[np.uint16]:
    marks = [lesion(HEIGHT, WIDTH, seed=seed, which=which) for which in range(len(names))]
    return mammogram(
        HEIGHT,
        WIDTH,
        seed=seed,
        maximum=16383,
        side=side,
        oblique=view == "MLO",
        lesion=np.logical_or.reduce(marks) if marks else None,
        specks=any(name.startswith("C") for name in names),
    )


def _image(marks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"ImageIndex": 0, "NumberOfROIs": len(marks), "ROIs": list(marks)}


def _mark(name: str, seed: int, which: int) -> dict[str, Any]:
    x0, y0, x1, y1 = bounds(lesion(HEIGHT, WIDTH, seed=seed, which=which))
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    points = corners if name not in {"Calcification", "Point 1", "Point 3"} else corners[:1]
    text = [f"({x:.6f}, {y:.6f})" for x, y in points]
    return {"Area": 1.5, "Name": name, "NumberOfPoints": len(text), "Point_px": text, "Type": 15}


def _muscle(side: str) -> list[str]:
    """From the upper edge to the chest wall, drawn downwards for left breasts."""
    shares = (0.98, 0.6, 0.2, 0.0)
    line = [
        (round(MUSCLE[0] * share * WIDTH), round(MUSCLE[1] * (1 - share) * HEIGHT))
        for share in shares
    ]
    if side == "R":
        line = [(WIDTH - 1 - x, y) for x, y in reversed(line)]
    return [f"({x}, {y})" for x, y in line]


def _plist(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(plistlib.dumps(content))
