"""A few synthetic films under the headers that the label table has had."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.chest_signs import areas_of, film_with, sign_area
from medrcube.sources._synthetic.images import bounds, write_lines, write_picture
from medrcube.sources._synthetic.shapes import Mask, places, radius

_FIRST = "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,"
_HEADERS = {
    "official": "Patient Sex,View Position,OriginalImage[Width,Height],"
    "OriginalImagePixelSpacing[x,y],",
    "kaggle": "Patient Gender,View Position,OriginalImage[Width,Height],"
    "OriginalImagePixelSpacing[x,y],",
    "sample": "Patient Gender,View Position,OriginalImageWidth,OriginalImageHeight,"
    "OriginalImagePixelSpacing_x,OriginalImagePixelSpacing_y",
}
_ROWS = {
    "00000001_000.png": "Cardiomegaly,0,{},57,M,PA,2682,2749,0.143,0.143",
    "00000001_001.png": "Cardiomegaly|Emphysema,1,{},58,M,PA,2894,2729,0.143,0.143",
    "00000002_000.png": "No Finding,0,{},80,M,AP,2500,2048,0.171,0.171",
    "00000003_001.png": "Hernia,0,{},74,F,PA,2500,2048,0.168,0.168",
    "00000004_000.png": "Mass|Nodule,0,{},82,M,AP,2500,2048,0.168,0.168",
    "00000005_000.png": "Infiltration|Pneumonia,0,{},69,F,AP,2048,2500,0.168,0.168",
    "00000006_000.png": "Consolidation|Edema|Effusion,0,{},9,F,AP,2048,2500,0.168,0.168",
    "00000007_000.png": "Fibrosis|Pleural_Thickening,0,{},61,M,PA,2500,2048,0.168,0.168",
    "00030805_003.png": "Atelectasis|Pneumothorax,0,{},33,F,PA,2500,2048,0.171,0.171",
}
_INFILTRATE = (225.084745762712, 347.5, 186.5, 150.0)
"""Corner, width and height, as long as the figures of the release."""
_BOXED = (
    # film, name in the table of boxes, concept, what stands after the numbers
    ("00000001_000.png", "Cardiomegaly", "Cardiomegaly", ""),
    ("00000005_000.png", "Infiltrate", "Infiltration", ",,,"),
    ("00030805_003.png", "Atelectasis", "Atelectasis", ""),
    ("00030805_003.png", "Pneumothorax", "Pneumothorax", ",,,"),
)
_RGBA = "00000002_000.png"
_SIDE = 1024


def build(root: Path, layout: str) -> None:
    """Write images (one RGBA) and the label table; for full copies the boxes and lists too."""
    header, end = _FIRST + _HEADERS[layout], "" if layout == "sample" else ","
    if layout == "sample":
        rows = [f"{name},{row.format(name[:8])}" for name, row in _ROWS.items()]
        _write_pictures(root / "sample" / "images", list(_ROWS))
        write_lines(root / "sample" / "sample_labels.csv", [header, *rows], newline="\r\n")
        return
    if layout == "official":
        _write_pictures(root / "images", list(_ROWS))
        table = root / "Data_Entry_2017_v2020.csv"
    else:
        _write_pictures(root / "images_001" / "images", list(_ROWS)[:4])
        _write_pictures(root / "images_012" / "images", list(_ROWS)[4:])
        table = root / "Data_Entry_2017.csv"
    rows = [f"{name},{row.format(int(name[:8]))}{end}" for name, row in _ROWS.items()]
    write_lines(table, [header, *rows])
    header = "Image Index,Finding Label,Bbox [x,y,w,h],,,"
    write_lines(root / "BBox_List_2017.csv", [header, *map(_box_row, _BOXED)])
    write_lines(root / "train_val_list.txt", list(_ROWS)[:6])
    write_lines(root / "test_list.txt", list(_ROWS)[6:])


def _write_pictures(folder: Path, names: list[str]) -> None:
    located = {name for name, *_ in _BOXED}
    for name in names:
        side = _SIDE if name in located else 256
        seed = int(name[:8])
        concepts = _ROWS[name].partition(",")[0].split("|")
        areas = {concept: _area(concept, side, seed) for concept in _drawn_concepts(concepts)}
        pixels = film_with(areas, side, side, seed=seed)
        if name == _RGBA:
            opaque = np.full_like(pixels, 255)
            pixels = np.stack([pixels, pixels, pixels, opaque], axis=2)
        write_picture(folder / name, pixels)


def _drawn_concepts(concepts: list[str]) -> list[str]:
    return list(areas_of(concepts, 8, 8, seed=0))


def _area(concept: str, side: int, seed: int) -> Mask:
    """Where a finding lies: the infiltrate in the ellipse that fills its box."""
    if concept != "Infiltration":
        return sign_area(concept, side, side, seed=seed)
    x, y, width, height = (value / _SIDE for value in _INFILTRATE)
    ellipse = (y + height / 2, x + width / 2, height / 2, width / 2)
    return radius(*places(side, side), ellipse) < 1


def _box_row(row: tuple[str, str, str, str]) -> str:
    name, word, concept, end = row
    if concept == "Infiltration":
        return f"{name},{word},225.084745762712,347.5,186.5,150{end}"
    x0, y0, x1, y1 = bounds(_area(concept, _SIDE, int(name[:8])))
    return f"{name},{word},{x0 + 0.084745762712},{y0 + 0.5},{x1 - x0 - 0.5},{y1 - y0 - 1}{end}"
