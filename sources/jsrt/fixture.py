"""A few synthetic films without a header, both clinical tables, and masks of two folds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medrcube.sources._synthetic.images import CANARY, picture, write_lines, write_picture

_SIDE, _GRID = 2048, 128
# Rows as they stand in CLNDAT_EN.txt: position and diagnosis are cut at fixed columns.
_NODULES = (
    "JPCLN001.IMG\t5\t30\t53\tmale\t1634\t692\tmalignant\tl.upper\tlobe\tlung cancer(\tadeno)",
    "JPCLN002.IMG\t1\t15\t78\tfemale\t1614\t1090\tbenign\tl.upper\tlobe(S5)\tpulmonary he\tmatoma",
    "JPCLN106.IMG\t3\t40\t?\tfemale\t400\t1100\tmalignant\tr.middl\te lobe\tlung cancer\t",
)
_NORMALS = (
    "JPCNN001.IMG 30  female   non-nodule",
    "JPCNN002.IMG 17  male     non-nodule",
)
# Centre (row, column) and radii in the frame of the grid; right sides lie at the picture's left.
_ORGANS = {
    "right lung": (64, 42, 30, 14),
    "left lung": (64, 88, 30, 13),
    "heart": (80, 70, 13, 15),
    "right clavicle": (30, 42, 3, 16),
    "left clavicle": (30, 88, 3, 16),
}


def build(root: Path, layout: str) -> None:
    """Write films and tables of one edition; the copy in PNG has no masks."""
    rows = [row.split() for row in (*_NODULES, *_NORMALS)]
    if layout == "kaggle":
        for row in rows:
            film = _film(row).repeat(8, axis=0).repeat(8, axis=1)
            write_picture(root / "images" / "images" / f"{row[0][:8]}.png", film // 16)
        header = "study_id,subtlety,size,age,gender,x,y,state,position,diagnosis"
        lines = [",".join(row[:8]) + ",," for row in rows[:3]]
        lines += [f"{name},,,{age},{sex},,,non-nodule,," for name, age, sex, _ in rows[3:]]
        table = [line.replace(".IMG", ".png").replace("?", "") for line in lines]
        write_lines(root / "jsrt_metadata.csv", [header, *table])
        return
    for row in rows:
        path = root / "All247images" / row[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        film = _film(row).repeat(_SIDE // _GRID, axis=0).repeat(_SIDE // _GRID, axis=1)
        path.write_bytes((4095 - film).astype(">u2").tobytes())
    tables = root / "Clinical_Information"
    write_lines(tables / "CLNDAT_EN.txt", _NODULES, newline="\r")
    write_lines(tables / "CNNDAT_EN.TXT", _NORMALS, newline="\r\n")
    _write_masks(root / "SCR" / "fold1" / "masks", "JPCLN001")
    _write_masks(root / "SCR" / "fold2" / "masks", "JPCNN002")


def _film(row: list[str]) -> NDArray[np.uint16]:
    """A film of the grid's size with dark lungs, and the nodule of its row."""
    parts = np.zeros((_GRID, _GRID), np.uint8)
    for name, value in (("right lung", 2), ("left lung", 2), ("heart", 3)):
        parts[_ellipse(*_ORGANS[name])] = value
    for name in ("right clavicle", "left clavicle"):
        parts[_ellipse(*_ORGANS[name])] = 1
    if row[0].startswith("JPCLN"):
        radius = float(row[2]) / 2 / 0.175 * _GRID / _SIDE
        x, y = (int(cell) * _GRID / _SIDE for cell in row[5:7])
        parts[_ellipse(y, x, radius, radius)] = 3
    return picture(_GRID, _GRID, seed=int(row[0][5:8]), maximum=4095, parts=parts)


def _write_masks(folder: Path, stem: str) -> None:
    for name, place in _ORGANS.items():
        mask = _ellipse(*place).repeat(8, axis=0).repeat(8, axis=1)
        (folder / name).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(mask.astype(np.uint8) * 255).convert("P")
        image.save(folder / name / f"{stem}.gif", comment=CANARY.encode())


def _ellipse(row: float, column: float, height: float, width: float) -> NDArray[np.bool_]:
    rows, columns = np.mgrid[0:_GRID, 0:_GRID] + 0.5
    inside: NDArray[np.bool_] = ((rows - row) / height) ** 2 + ((columns - column) / width) ** 2 < 1
    return inside
