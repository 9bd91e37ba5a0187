"""A synthetic BUS-BRA: every histology, both kinds of halves, a disputed BI-RADS, stray pixels."""

from __future__ import annotations

from pathlib import Path

from medrcube.sources._synthetic.breast import breast_ultrasound
from medrcube.sources._synthetic.images import bounds, lesion, write_lines, write_picture

MALIGNANT = (
    *("invasive ductal carcinoma", "invasive lobular carcinoma", "papillary carcinoma"),
    *("mucinous carcinoma", "medullary carcinoma", "lymphoma", "adenocarcinoma"),
    *("lobular carcinoma in situ", "ductal carcinoma in situ"),
)
BENIGN = (
    *("fibroadenoma", "cyst", "fibrocystic changes", "intraductal papilloma", "lipoma"),
    *("sclerosing adenosis", "hyperplasia", "phyllodes tumor", "mastitis", "fat necrosis"),
    *("hamartoma", "proliferative lesions", "metaplasia apocrina", "galactocele"),
    *("ductal hyperplasia", "lymph node", "fibrosis", "lobular atrophy", "duct ectasia"),
)
HEADER = "ID,Case,Histology,Pathology,BIRADS,Device,Width,Height,Side,BBOX"
SIZE = (104, 120)
TWO_PARTS = 101
"""The mask of its left half has a stray pixel, as in the release."""


def build(root: Path, layout: str) -> None:
    """Write images, 1-bit masks, the table and the five folds."""
    del layout
    rows, folds = [HEADER], ["ID,Pathology,kFold,valid_1,valid_2,valid_3,valid_4,valid_5"]
    women = [*enumerate((*MALIGNANT, *BENIGN), start=1), (TWO_PARTS, MALIGNANT[0])]
    for number, histology in women:
        pathology = "malignant" if histology in MALIGNANT else "benign"
        for side in ("l", "r") if number in {1, TWO_PARTS} else ("s",):
            key = f"{number:04}-{side}"
            mask = lesion(*SIZE, seed=number)
            other = number + 1000 * (side == "r")
            malign = pathology == "malignant"
            picture = breast_ultrasound(*SIZE, seed=other, lesion=mask, shadow=malign)
            write_picture(root / f"Images/bus_{key}.png", picture)
            x0, y0, x1, y1 = bounds(mask)
            mask[-1, 0] = key == f"{TWO_PARTS:04}-l"
            write_picture(root / f"Masks/mask_{key}.png", mask)
            box = f'"[{x0 + 1},{y0 + 1},{x1 - x0 - 1},{y1 - y0 - 1}]"'
            birads = 5 if side == "r" and number == 1 else 2 + number % 4
            cells = (f"bus_{key}", number, histology, pathology, birads, "GE Logiq 7 @10-14MHz")
            half = {"l": "left", "r": "right", "s": "single"}[side]
            rows.append(",".join(map(str, (*cells, SIZE[1], SIZE[0], half, box))))
            folds.append(f"bus_{key},{pathology},{1 + number % 5},NaN,1,0,1,1")
    write_lines(root / "bus_data.csv", rows)
    write_lines(root / "5-fold-cv.csv", folds)
