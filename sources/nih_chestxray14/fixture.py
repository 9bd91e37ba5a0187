"""A few synthetic films under the headers that the label table has had."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.chest_film import chest_film, lung_lesion
from medrcube.sources._synthetic.images import write_lines, write_picture

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
_BOXES = (
    "00000001_000.png,Cardiomegaly,412.084745762712,447.019216763771,320.77966101695,219.1864406779",
    "00000005_000.png,Infiltrate,225.084745762712,347.5,186.5,150,,,",
    "00030805_003.png,Atelectasis,626.1,531.498411017185,185.491525423729,213.4",
    "00030805_003.png,Pneumothorax,251.2,217.053115068856,155.118644067797,116.9,,,",
)
_RGBA = "00000002_000.png"
_SIDE = 1024


def build(root: Path, layout: str) -> None:
    """Write pictures (one RGBA) and the label table; for full copies the boxes and lists too."""
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
    write_lines(root / "BBox_List_2017.csv", [header, *_BOXES])
    write_lines(root / "train_val_list.txt", list(_ROWS)[:6])
    write_lines(root / "test_list.txt", list(_ROWS)[6:])


def _write_pictures(folder: Path, names: list[str]) -> None:
    located = {row.partition(",")[0] for row in _BOXES}
    for name in names:
        side = _SIDE if name in located else 256
        seed = int(name[:8])
        normal = "No Finding" in _ROWS[name]
        dense = None if normal else lung_lesion(side, side, seed=seed)
        pixels = chest_film(side, side, seed=seed, opacity=dense)
        if name == _RGBA:
            opaque = np.full_like(pixels, 255)
            pixels = np.stack([pixels, pixels, pixels, opaque], axis=2)
        write_picture(folder / name, pixels)
