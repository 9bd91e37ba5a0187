"""A synthetic collection: the last table with scores, or the first one without."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_ct import chest_slice, lung_window
from medrcube.sources._synthetic.chest_film import chest_film, lateral_film, lung_lesion, lungs
from medrcube.sources._synthetic.chest_signs import areas_of, film_with
from medrcube.sources._synthetic.images import CANARY, write_lines, write_picture

LAST = (
    "patientid,offset,sex,age,finding,RT_PCR_positive,survival,intubated,intubation_present,"
    "went_icu,in_icu,needed_supplemental_O2,extubated,temperature,pO2_saturation,"
    "leukocyte_count,neutrophil_count,lymphocyte_count,view,modality,date,location,folder,"
    "filename,doi,url,license,clinical_notes,other_notes,"
)
FIRST = (
    "Patientid,offset,sex,age,finding,survival,view,date,location,filename,doi, url,license,notes"
)

VIRAL = "Pneumonia/Viral/"
BACTERIAL = "Pneumonia/Bacterial/"
ROWS = (
    ("auntminnie-a-2020_01_28_Vietnam_coronavirus.jpeg", VIRAL + "COVID-19", "PA", ""),
    ("16654_1_1.png", VIRAL + "COVID-19", "PA", "CC BY-NC-SA 4.0"),
    ("01E392EE-69F9-4E33-BFCE-E5C968654078.jpeg", VIRAL + "COVID-19", "PA", "CC BY 3.0"),
    ("covid-19 pneumonia (mild).JPG", VIRAL + "COVID-19", "PA", "CC BY-NC-ND 4.0"),
    ("covid-19-pneumonia[7].PNG", VIRAL + "COVID-19", "PA", "Apache 2.0"),
    ("000001-1.jpg", VIRAL + "SARS", "AP", "CC BY-NC-SA"),
    ("000001-2.jpg", VIRAL + "MERS-CoV", "AP Supine", "CC BY-NC-SA"),
    ("000001-3.jpg", VIRAL + "Herpes ", "AP Erect", "CC BY-NC-SA"),
    ("000001-4.jpg", VIRAL + "Varicella", "AP semi erect", "CC BY-NC-SA"),
    ("000001-5.jpg", VIRAL + "Influenza/H1N1", "L", "CC BY-NC-SA"),
    ("000002-1.jpg", BACTERIAL + "Streptococcus", "PA", "CC BY-NC-SA"),
    ("000002-2.jpg", BACTERIAL + "Klebsiella", "PA", "CC BY-NC-SA"),
    ("000002-3.jpg", BACTERIAL + "Legionella", "PA", "CC BY-NC-SA"),
    ("000002-4.jpg", BACTERIAL + "Mycoplasma", "PA", "CC BY-NC-SA"),
    ("000002-5.jpg", BACTERIAL + "Chlamydophila", "PA", "CC BY-NC-SA"),
    ("000002-6.jpg", BACTERIAL + "E.Coli", "PA", "CC BY-NC-SA"),
    ("000002-7.jpg", BACTERIAL + "Nocardia", "PA", "CC BY-NC-SA"),
    ("000002-8.jpg", BACTERIAL + "Staphylococcus/MRSA", "PA", "CC BY-NC-SA"),
    ("000003-1.jpg", "Pneumonia/Fungal/Pneumocystis", "PA", "CC BY-NC-SA"),
    ("000003-2.jpg", "Pneumonia/Fungal/Aspergillosis", "PA", "CC BY-NC-SA"),
    ("000005-1.jpg", "Pneumonia/Viral", "PA", "CC BY-NC-SA"),
    ("000005-2.jpg", "Pneumonia/Bacterial", "PA", "CC BY-NC-SA"),
    ("000005-3.jpg", BACTERIAL + "Staphylococcus", "PA", "CC BY-NC-SA"),
    ("000005-4.jpg", "Pneumonia/Fungal", "PA", "CC BY-NC-SA"),
    ("000005-5.jpg", VIRAL + "Influenza", "PA", "CC BY-NC-SA"),
    ("000003-3.jpg", "Pneumonia/Lipoid", "PA", "CC BY-NC-SA"),
    ("000003-4.jpg", "Pneumonia/Aspiration", "PA", "CC BY-NC-SA"),
    ("000003-5.jpg", "Tuberculosis", "PA", "CC BY-NC-SA"),
    ("000003-6.jpg", "No Finding", "PA", "CC BY-NC-SA"),
    ("000003-7.jpg", "Unknown", "PA", " "),
    ("000003-8.jpg", "todo", "PA", "listed as authorized for everyone"),
    ("000003-9.jpg", "", "PA", "CC0"),
    ("16660_2_1.jpg", VIRAL + "COVID-19", "Axial", "CC BY 4.0"),
    ("16660_2_2.jpg", VIRAL + "COVID-19", "Coronal", "CC BY 4.0"),
    ("16660_2_3.jpg", "No Finding", "Axial", "CC BY 4.0"),
    ("000004-2.jpg", "Pneumonia", "PA", "CC BY-NC-SA"),
    ("000004-1.jpg", "Pneumonia", "PA", "CC BY-NC-SA 4.0"),
    ("000004-1.jpg", "Pneumonia", "PA", "CC BY-NC-SA 4.0"),
)
SCORES = (
    (ROWS[0][0], "0.0,0.0"),
    (ROWS[1][0], "1.7,2.0"),
    (ROWS[2][0], "4.7,4.0"),
    (ROWS[3][0], "8.0,6.0"),
    (ROWS[4][0], "2.7,1.3"),
)
EARLY = (
    ("nejmoa2001191_f1-PA.jpeg", "COVID-19", "PA"),
    ("ryct.2020200034.fig2.jpeg", "COVID-19, ARDS", "AP Supine"),
    ("ARDSSevere.png", "ARDS", "AP"),
    ("SARS-10.1148rg.242035193-g04mr34g0-Fig8a-day0.jpeg", "SARS", "L"),
    ("pneumocystis-jiroveci-pneumonia-1.jpg", "Pneumocystis", "PA"),
    ("mycoplasma-pneumonia-1.jpg", "Mycoplasma Bacterial Pneumonia", "PA"),
    ("kjr-21-e24-g001-l-a.jpg", "COVID-19", "Axial"),
    ("kjr-21-e24-g001-l-b.jpg", "No Finding", "CT"),
    ("streptococcus-pneumoniae-pneumonia-1.jpg", "Streptococcus", "PA"),
    ("normal-1.jpg", "No Finding", "PA"),
)


def build(root: Path, layout: str) -> None:
    """Write the films and figures with the table of that edition."""
    names = EARLY if layout == "early" else ROWS
    for seed, (name, finding, view, *_) in enumerate(dict.fromkeys(names)):
        figure = _figure(seed, view, finding)
        write_picture(root / "images" / name, figure)
    if layout == "early":
        _table(root, FIRST, [_early(number, *row) for number, row in enumerate(EARLY)])
        return
    _table(root, LAST, [_last(number, *row) for number, row in enumerate(ROWS)])
    mask = np.logical_or(*lungs(48, 55, seed=1))
    write_picture(root / "annotations/lungVAE-masks/16654_1_1_mask.png", mask)
    write_picture(root / "annotations/lungVAE-masks/000001-1_mask.png.png", mask)
    notes = ["## COVID-19 Pneumonia Severity Scores (Mean of 3 expert raters),,"] * 5
    scores = [f"{name},{means}" for name, means in SCORES]
    header = "filename,geographic_mean,opacity_mean"
    write_lines(root / "annotations/covid-severity-scores.csv", [*notes, header, *scores])


def _figure(seed: int, view: str, finding: str) -> NDArray[np.uint8]:
    normal = finding == "No Finding"
    if view in {"Axial", "Coronal", "CT"}:
        return lung_window(chest_slice(96, 110, seed=seed, opacity=not normal))
    if finding == "Tuberculosis":
        areas = areas_of(("Tuberculosis",), 96, 110, seed=seed)
        return film_with(areas, 96, 110, seed=seed).astype(np.uint8)
    draw = lateral_film if view == "L" else chest_film
    dense = None if normal else lung_lesion(96, 110, seed=seed)
    return draw(96, 110, seed=seed, opacity=dense).astype(np.uint8)


def _last(number: int, name: str, finding: str, view: str, licence: str) -> dict[str, str]:
    return {
        "patientid": f"{CANARY} {number}",
        "offset": "3",
        "sex": "M",
        "age": "65",
        "finding": finding,
        "RT_PCR_positive": "Y",
        "view": view,
        "modality": "CT" if view in {"Axial", "Coronal"} else "X-ray",
        "location": CANARY,
        "folder": "images",
        "filename": name,
        "license": licence,
        "clinical_notes": f'A man, "{CANARY}", with fever\nand cough \ufffd',
        "other_notes": f"Credit to {CANARY}",
    }


def _early(number: int, name: str, finding: str, view: str) -> dict[str, str]:
    row = {"offset": "0", "sex": "F", "age": "52", "location": CANARY, "license": "CC BY 4.0"}
    columns = {"finding": finding, "view": view, "filename": name, "notes": f"Seen by {CANARY}"}
    return {"Patientid": f"{CANARY} {number}", **row, **columns}


def _table(root: Path, header: str, rows: Sequence[dict[str, str]]) -> None:
    with (root / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, header.split(","), restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
