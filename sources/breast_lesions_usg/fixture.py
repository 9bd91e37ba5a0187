"""A synthetic BrEaST-Lesions-USG: hidden corners, several lesions, every word of the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.breast import Descriptors, breast_ultrasound
from medrcube.sources._synthetic.images import write_picture
from medrcube.sources._synthetic.shapes import places, radius
from medrcube.sources._synthetic.spreadsheets import Sheets, Value, write_spreadsheet

HEADER = (
    *("CaseID", "Image_filename", "Mask_tumor_filename", "Mask_other_filename", "Pixel_size"),
    *("Age", "Tissue_composition", "Signs", "Symptoms", "Shape", "Margin", "Echogenicity"),
    *("Posterior_features", "Halo", "Calcifications", "Skin_thickening", "Interpretation"),
    *("BIRADS", "Verification", "Diagnosis", "Classification"),
)
ECHOES = (
    *("hypoechoic", "anechoic", "isoechoic", "hyperechoic", "heterogeneous"),
    "complex cystic/solid",
)
BEHIND = ("no", "shadowing", "enhancement", "combined")
CALCIFICATIONS = ("no", "in a mass", "intraductal", "indefinable")
CATEGORIES: tuple[Value, ...] = (2, 3, "4a", "4b", "4c", 5)
DIAGNOSES = (
    "Fibroadenoma",
    "Invasive carcinoma of no special type (NST)",
    "Intraductal papilloma",
    "Simple cyst",
    "Hamartoma",
    "Adenosis",
    "Apocrine carcinoma",
    "Atypical lobular hyperplasia (ALH)",
    "Benign mammary dysplasia",
    "Complex sclerosing lesion",
    "Cribriform carcinoma",
    "Ductal carcinoma in situ (DCIS)",
    "Encapsulated papillary carcinoma",
    "Fat necrosis",
    "Fibroadenosis",
    "Fibrocystic change",
    "Fibrosclerosis",
    "Intramammary lymph node",
    "Invasive lobular carcinoma",
    "Invasive micropapillary carcinoma",
    "Invasive papillary carcinoma",
    "Lactating adenoma",
    "Lobular carcinoma in situ (LCIS)",
    "Lymphoma",
    "Mastitis",
    "Metaplastic carcinoma",
    "Mucinous carcinoma",
    "Phyllodes tumor",
    "Pseudoangiomatous stromal hyperplasia (PASH)",
    "Sebaceous carcinoma",
    "Solid papillary carcinoma in situ",
    "Tubular carcinoma",
    "Usual ductal hyperplasia (UDH)",
    "Fibroadenoma&Phyllodes tumor",
)
SIZE = (120, 150)
NORMAL, MANY, FOLLOWED = 45, 22, 2
DISPUTED = 59
FOLDER = "BrEaST-Lesions_USG-images_and_masks"


def build(root: Path, layout: str) -> None:
    """Write RGBA images and masks, and the spreadsheet with its dictionary."""
    del layout
    numbers = [number for number in range(1, 80) if number not in {NORMAL, MANY, FOLLOWED}]
    diagnoses = dict(zip(numbers, DIAGNOSES, strict=False))
    diagnoses |= {NORMAL: "not applicable", MANY: "Fibroadenoma", FOLLOWED: "not applicable"}
    diagnoses[DISPUTED] = "Lobular carcinoma in situ (LCIS)"
    rows: list[tuple[Value, ...]] = [HEADER]
    for number, diagnosis in sorted(diagnoses.items()):
        rows.append(_scan(root / FOLDER, number, diagnosis))
    sheets: Sheets = {
        "BrEaST-Lesions-USG clinical dat": rows,
        "Data Dictionary": [("Case_ID", "number")],
    }
    write_spreadsheet(root / "BrEaST-Lesions-USG-clinical-data-Dec-15-2023.xlsx", sheets)


def _scan(folder: Path, number: int, diagnosis: str) -> tuple[Value, ...]:
    """Write one image and its masks, and return its row."""
    key, count = f"case{number:03}", {NORMAL: 0, MANY: 3}.get(number, 1)
    malignant = count == 1 and _is_malignant(diagnosis)
    masks = [_lesion(number, which) for which in range(count)]
    descriptors = _descriptors(number)
    grey = breast_ultrasound(*SIZE, seed=number, lesion=_any(masks), descriptors=descriptors)
    write_picture(folder / f"{key}.png", _coloured(grey, cut=number % 8 == 5))
    names = [f"{key}_tumor.png", *(f"{key}_other{which}.png" for which in range(1, count))]
    for name, mask in zip(names, masks, strict=False):
        marks = np.where(mask, 255, 0).astype(np.uint8)
        write_picture(folder / name, np.repeat(marks[:, :, None], 4, axis=2))
    files: tuple[Value, ...] = (f"{key}.png", names[0], "&".join(names[1:]) or None)
    if number == NORMAL:
        none, more = "not applicable", ("no", "not applicable", 1, "not applicable")
        cells = (f"{key}.png", None, None, 0.0075, 32, *("not available",) * 3, *(none,) * 6)
        return (number, *cells, *more, none, "normal")
    answers = ("0.0078", "not available", "heterogeneous: predominantly fat")
    halo, thick = ("yes" if flag else "no" for flag in (descriptors.halo, descriptors.thick_skin))
    signs = (
        "oval",
        "circumscribed",
        descriptors.echo,
        descriptors.behind,
        halo,
        descriptors.calcification,
        thick,
    )
    proof = "confirmed by follow-up care" if number == FOLLOWED else "confirmed by biopsy"
    result = (CATEGORIES[number % 6], proof, diagnosis, "malignant" if malignant else "benign")
    return (number, *files, *answers, "no", "no", *signs, "Cyst&Fibroadenoma", *result)


def _lesion(number: int, which: int) -> NDArray[np.bool_]:
    """An ellipse anywhere in the fat and gland, with room for a duct at its right.

    Several of a scan lie side by side.
    """
    rng = np.random.default_rng((number, which, 81))
    tall = 0.055 + 0.065 * rng.random()
    wide = 1.15 * tall
    row = 0.22 + tall + (0.46 - 2 * tall) * rng.random()
    column = 0.02 + wide + (0.95 - 3.4 * wide) * rng.random()
    if number == MANY:
        column = 0.2 + 0.3 * which
    return radius(*places(*SIZE), (row, column, tall, wide)) < 1


def _descriptors(number: int) -> Descriptors:
    """What the table says of the lesion of a scan, and the image shows; of several, the echo."""
    if number == MANY:
        return Descriptors(echo=ECHOES[number % 6])
    return Descriptors(
        echo=ECHOES[number % 6],
        behind=BEHIND[number % 4],
        halo=number % 2 == 0,
        calcification=CALCIFICATIONS[number // 2 % 4],
        thick_skin=number % 5 == 0,
    )


def _any(masks: list[NDArray[np.bool_]]) -> NDArray[np.bool_] | None:
    return np.logical_or.reduce(masks) if masks else None


def _is_malignant(diagnosis: str) -> bool:
    words = diagnosis.lower()
    return ("carcinoma" in words and "lobular carcinoma in situ" not in words) or "lymph" in words


def _coloured(grey: NDArray[np.uint8], *, cut: bool) -> NDArray[np.uint8]:
    """RGBA with a bluish tint; of a ``cut`` one the corners are white and hidden."""
    alpha = np.full_like(grey, 255)
    if cut:
        alpha[:20, :20] = alpha[:20, -20:] = 0
    blue = np.clip(grey.astype(np.int16) + 12, 0, 255)
    colours = [np.where(alpha == 0, 255, channel) for channel in (grey, grey, blue)]
    return np.stack([*colours, alpha], axis=2).astype(np.uint8)
