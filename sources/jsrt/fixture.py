"""A few synthetic films without a header, both clinical tables, and masks of two folds.

Hearts take from 0.38 to 0.62 of the chest: of patients, not of one person.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medrcube.sources._synthetic.chest_film import (
    chest_film,
    clavicles,
    heart,
    lungs,
)
from medrcube.sources._synthetic.chest_person import Person, person_of
from medrcube.sources._synthetic.images import CANARY, write_lines, write_picture
from medrcube.sources._synthetic.shapes import places, radius

_SIDE, _GRID, _MASK = 2048, 256, 1024
# Rows as they stand in CLNDAT_EN.txt: position and diagnosis are cut at fixed columns.
_NODULES = (
    "JPCLN001.IMG\t5\t30\t53\tmale\t1634\t692\tmalignant\tl.upper\tlobe\tlung cancer(\tadeno)",
    "JPCLN002.IMG\t1\t15\t78\tfemale\t1614\t1090\tbenign\tl.upper\tlobe(S5)\tpulmonary he\tmatoma",
    "JPCLN106.IMG\t3\t40\t?\tfemale\t400\t1100\tmalignant\tr.middl\te lobe\tlung cancer\t",
)
_NORMALS = (
    "JPCNN001.IMG 30  female   non-nodule",
    "JPCNN002.IMG 17  male     non-nodule",
    "JPCNN003.IMG 61  female   non-nodule",
    "JPCNN004.IMG 48  male     non-nodule",
    "JPCNN005.IMG 72  female   non-nodule",
)
_HEARTS = {
    "JPCNN002": 0.95,
    "JPCLN001": 1.12,
    "JPCNN001": 1.27,
    "JPCLN106": 1.39,
    "JPCNN004": 1.48,
    "JPCNN005": 1.42,
    "JPCNN003": 1.53,
}
"""Films with masks, and the width of the heart, by which their ratios rise from 0.38 to 0.62."""


def build(root: Path, layout: str) -> None:
    """Write films and tables of one edition; the copy in PNG has no masks."""
    rows = [row.split() for row in (*_NODULES, *_NORMALS)]
    if layout == "kaggle":
        for row in rows:
            film = _film(row).repeat(_MASK // _GRID, axis=0).repeat(_MASK // _GRID, axis=1)
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
    for stem in _HEARTS:
        fold = 1 + (int(stem[5:]) % 2 == 0)
        _write_masks(root / "SCR" / f"fold{fold}" / "masks", stem)


def _film(row: list[str]) -> NDArray[np.uint16]:
    """A film of the grid's size with the nodule of its row."""
    nodule = None
    if row[0].startswith("JPCLN"):
        size = float(row[2]) / 2 / 0.175 / _SIDE
        x, y = (int(cell) / _SIDE for cell in row[5:7])
        nodule = radius(*places(_GRID, _GRID), (y, x, size, size)) < 1
    return _chest(row[0], opacity=nodule)


def _chest(name: str, *, opacity: NDArray[np.bool_] | None = None) -> NDArray[np.uint16]:
    """The person of a film, of the grid's size."""
    return chest_film(
        _GRID, _GRID, seed=_seed(name), maximum=4095, opacity=opacity, person=_person(name)
    )


def _seed(name: str) -> int:
    """Another person for every film, with a nodule (``JPCLN``) or without (``JPCNN``)."""
    return 1000 * name.startswith("JPCNN") + int(name[5:8])


def _person(name: str) -> Person:
    """The person of a film, with a heart of a width of its own where there are masks."""
    person = person_of(_seed(name))
    return replace(person, heart=_HEARTS.get(name[:8], person.heart))


def _write_masks(folder: Path, stem: str) -> None:
    size, seed, person = (_MASK, _MASK), _seed(stem), _person(stem)
    collar_bones = clavicles(*size, seed=seed)
    masks = {
        **dict(
            zip(("right lung", "left lung"), lungs(*size, seed=seed, person=person), strict=True)
        ),
        "heart": heart(*size, seed=seed, person=person),
        **dict(zip(("right clavicle", "left clavicle"), collar_bones, strict=True)),
    }
    for name, mask in masks.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(mask.astype(np.uint8) * 255).convert("P")
        image.save(folder / name / f"{stem}.gif", comment=CANARY.encode())
