"""Synthetic 16-bit films and a label table that states every label of the card once."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import tomllib
from pathlib import Path

import numpy as np
from PIL import Image, PngImagePlugin

from medrcube.sources._synthetic.chest_signs import areas_of, film_with
from medrcube.sources._synthetic.images import CANARY

_HEADER = (
    ",ImageID,ImageDir,StudyDate_DICOM,StudyID,PatientID,PatientBirth,PatientSex_DICOM,"
    "ViewPosition_DICOM,Projection,MethodProjection,Pediatric,Modality_DICOM,Manufacturer_DICOM,"
    "PhotometricInterpretation_DICOM,PixelRepresentation_DICOM,PixelAspectRatio_DICOM,"
    "SpatialResolution_DICOM,BitsStored_DICOM,WindowCenter_DICOM,WindowWidth_DICOM,Rows_DICOM,"
    "Columns_DICOM,XRayTubeCurrent_DICOM,Exposure_DICOM,ExposureInuAs_DICOM,ExposureTime,"
    "RelativeXRayExposure_DICOM,ReportID,Report,MethodLabel,Labels,Localizations,"
    "LabelsLocalizationsBySentence,labelCUIS,LocalizationsCUIS"
)
_MANUAL, _PREDICTED = "Manual review of DICOM fields", "resnet-50.t7"
_PHYSICIAN = {"MethodLabel": "Physician", "MethodProjection": _MANUAL}
_ROWS: tuple[dict[str, str], ...] = (
    {"Labels": "['normal']", **_PHYSICIAN},
    {"Labels": "['normal']", "Projection": "L", **_PHYSICIAN},
    {"Labels": "['pulmonary fibrosis', ' chronic changes', '', 'kyphosis']", **_PHYSICIAN},
    {"Labels": "['pneumonia', ' pneumonia']", "Projection": "AP_horizontal", **_PHYSICIAN},
    {"Labels": "['COPD signs']", "Projection": "AP", **_PHYSICIAN},
    {"Labels": "['cardiomegaly', 'heart insufficiency']", "MethodProjection": _PREDICTED},
    {"Labels": "[]", "PatientBirth": ""},
    {"Labels": "", "Projection": "AP"},
    {"Labels": "['rib fracture']", "Projection": "COSTAL", **_PHYSICIAN},
    {"Labels": "['exclude']", "Projection": "EXCLUDE", **_PHYSICIAN},
    {"Labels": "['suboptimal study', 'normal']", **_PHYSICIAN},
    {"Labels": "['normal']", "PhotometricInterpretation_DICOM": "MONOCHROME1", **_PHYSICIAN},
    {"Labels": "['normal']", "Pediatric": "PED", "PatientBirth": "2008.0", **_PHYSICIAN},
    {"Labels": "['normal']", "PatientBirth": "1998.0", **_PHYSICIAN},
)


def build(root: Path, layout: str) -> None:  # noqa: ARG001
    """Write films into numbered folders, the last one into another, and the packed table."""
    rows = [*_ROWS, *({"Labels": repr(names)} for names in _all_labels())]
    rows[-2] |= {"Projection": "UNK"}
    table = io.StringIO()
    writer = csv.DictWriter(table, _HEADER.split(","), restval="", lineterminator="\n")
    writer.writeheader()
    for number, row in enumerate(rows):
        name = f"{20536686640136348236148679891455886468 + number}_k6ga{number:02d}.png"
        if number % 3 == 1:
            name = (
                f"{216840111366964012283393834152009033102258826 + number}_00-{number:03d}-099.png"
            )
        writer.writerow(_defaults(number, name) | row)
        folder = "images" if number == len(rows) - 1 else str(number % 2)
        _write(root / folder / name, number, row)
    path = root / "PADCHEST_chest_x_ray_images_labels_160K_01.02.19.csv.gz"
    path.write_bytes(gzip.compress(table.getvalue().encode(), mtime=0))


def _all_labels() -> list[list[str]]:
    card = tomllib.loads(Path(__file__).with_name("card.toml").read_text("utf-8"))
    fields = [field for field in card["field"] if field["name"] != "view"]
    names = [name for field in fields for name in (*field.get("same", ()), *field["values"])]
    return [names[start : start + 40] for start in range(0, len(names), 40)]


def _concepts(labels: str) -> list[str]:
    """What the card calls the labels of a cell."""
    card = tomllib.loads(Path(__file__).with_name("card.toml").read_text("utf-8"))
    concepts: dict[str, str] = {}
    for field in card["field"]:
        concepts |= {name: name for name in field.get("same", ())} | field["values"]
    names = [name.strip() for name in ast.literal_eval(labels or "[]")]
    return [concepts[name] for name in names if concepts.get(name)]


def _defaults(number: int, name: str) -> dict[str, str]:
    return {
        "": str(number),
        "ImageID": name,
        "ImageDir": str(number % 2),
        "StudyDate_DICOM": "20140915",
        "StudyID": name.partition("_")[0],
        "PatientID": f"{CANARY}{number}",
        "PatientBirth": "1930.0",
        "PatientSex_DICOM": "F",
        "ViewPosition_DICOM": "POSTEROANTERIOR",
        "Projection": "PA",
        "MethodProjection": _MANUAL,
        "Pediatric": "No",
        "Modality_DICOM": "CR",
        "PhotometricInterpretation_DICOM": "MONOCHROME2",
        "Report": f"torax {CANARY} \u00f1",
        "MethodLabel": "RNN_model",
        "labelCUIS": "['C0025552' 'C4273001' '']",
    }


def _write(path: Path, number: int, row: dict[str, str]) -> None:
    """A film of 12 significant bits spread over 16, with an identifier among its metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", CANARY)
    areas = areas_of(_concepts(row.get("Labels", "")), 140, 120, seed=number)
    lateral = row.get("Projection") == "L"
    film = film_with(areas, 140, 120, seed=number, maximum=4095, lateral=lateral)
    Image.fromarray(film * np.uint16(16)).save(path, pnginfo=text)
