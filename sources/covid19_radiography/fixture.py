"""A few synthetic films of every class, with tables that write their names in two ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.chest_film import chest_film, lung_lesion
from medrcube.sources._synthetic.images import CANARY, write_lines, write_picture
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet

_RSNA = "https://www.kaggle.com/c/rsna-pneumonia-detection-challenge/data"
_KERMANY = "https://www.kaggle.com/paultimothymooney/chest-xray-pneumonia"
_CLASSES = {
    "COVID": ("https://sirm.org/category/senza-categoria/covid-19/", "https://eurorad.org"),
    "Lung_Opacity": (_RSNA, _RSNA, _RSNA),
    "Normal": (_RSNA, _RSNA, _KERMANY, _KERMANY),
    "Viral Pneumonia": (_KERMANY, _KERMANY),
}
_COLOURED = "COVID-2"
_UNLISTED = "Lung_Opacity-3"
_SIDE, _MASK_SIDE = 299, 256


def build(root: Path, layout: str) -> None:
    """Write the tree with its top folder twice, as some copies have it; one film has no row."""
    del layout
    top = root / "COVID-19_Radiography_Dataset" / "COVID-19_Radiography_Dataset"
    for seed, (label, addresses) in enumerate(_CLASSES.items()):
        rows: list[list[str]] = [["FILE NAME", "FORMAT", "SIZE", "URL"]]
        for number, address in enumerate(addresses, 1):
            name = f"{label}-{number}"
            person = 10 * seed + number
            dense = None if label == "Normal" else lung_lesion(_SIDE, _SIDE, seed=person)
            pixels = chest_film(_SIDE, _SIDE, seed=person, opacity=dense)
            if name == _COLOURED:
                pixels = np.stack([pixels] * 3, axis=2)
            write_picture(top / label / "images" / f"{name}.png", pixels)
            mask = np.zeros((_MASK_SIDE, _MASK_SIDE, 3), np.uint8)
            write_picture(top / label / "masks" / f"{name}.png", mask)
            listed = name.upper() if label == "Normal" else name
            if name != _UNLISTED:
                rows.append([listed, "PNG", "256*256", address])
        write_spreadsheet(top / f"{label}.metadata.xlsx", {"Sheet1": rows})
    write_lines(top / "README.md.txt", [CANARY])
