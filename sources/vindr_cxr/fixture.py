"""A few synthetic films with three readings each, and a test part with a consensus."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.chest_signs import SIGNS, film_with, sign_area
from medrcube.sources._synthetic.images import bounds, write_dicom, write_lines
from medrcube.sources._synthetic.shapes import Mask

_FINDINGS = (
    *("Aortic enlargement", "Atelectasis", "Calcification", "Cardiomegaly", "Clavicle fracture"),
    *("Consolidation", "Edema", "Emphysema", "Enlarged PA", "ILD", "Infiltration"),
    *("Lung Opacity", "Lung cavity", "Lung cyst", "Mediastinal shift", "Nodule/Mass"),
    *("Pleural effusion", "Pleural thickening", "Pneumothorax", "Pulmonary fibrosis"),
    *("Rib fracture", "Other lesion"),
)
_DISEASES = ("COPD", "Lung tumor", "Pneumonia", "Tuberculosis")
_KAGGLE = (
    *("Aortic enlargement", "Atelectasis", "Calcification", "Cardiomegaly", "Consolidation"),
    *("ILD", "Infiltration", "Lung Opacity", "Nodule/Mass", "Other lesion", "Pleural effusion"),
    *("Pleural thickening", "Pneumothorax", "Pulmonary fibrosis", "No finding"),
)
_CONCEPTS = {"Pleural effusion": "Pleural Effusion"}
"""Concepts that the card calls otherwise than the table."""
_OTHER_DISEASES = {"train": "Other diseases", "test": "Other disease"}
# What each reader marks in each image; the test part has one reading.
_TRAIN = (
    (("Cardiomegaly",), ("Cardiomegaly", "Aortic enlargement"), ("Cardiomegaly",)),
    (("Pneumothorax",), ("Pneumothorax",), ("Pneumothorax", "Other lesion")),
    (("No finding",), ("No finding",), ("No finding",)),
    (("Pleural effusion", "COPD"), ("Pleural effusion", "COPD"), ("No finding",)),
    (("Nodule/Mass",), ("Calcification",), ("No finding",)),
)
_TEST = (
    *((name,) for name in (_FINDINGS[4], *_FINDINGS[12:16])),
    ("Lung Opacity", "Pneumonia"),
    ("Nodule/Mass", "Lung tumor", "Other disease"),
    ("No finding",),
)
_SIDE = 160


def build(root: Path, layout: str) -> None:
    """Write 12-bit films, both ways round in grey, and the tables of one edition."""
    if layout == "kaggle":
        _build_kaggle(root)
        return
    for split, pictures in (("train", _TRAIN), ("test", tuple((marks,) for marks in _TEST))):
        by_reader = split == "train"
        columns = [*_FINDINGS, *_DISEASES, _OTHER_DISEASES[split], "No finding"]
        ids = ["image_id", *(["rad_id"] if by_reader else [])]
        labels = [",".join([*ids, *columns])]
        boxes = [",".join([*ids, "class_name", "x_min", "y_min", "x_max", "y_max"])]
        for seed, readings in enumerate(pictures):
            image = _write_film(root / split, seed)
            for number, marks in enumerate(readings):
                who = [image, *([f"R{8 + number}"] if by_reader else [])]
                labels.append(",".join([*who, *(str(int(name in marks)) for name in columns)]))
                boxes += [
                    ",".join([*who, name, *_box(seed, name, number)])
                    for name in marks
                    if name not in (*_DISEASES, _OTHER_DISEASES[split])
                ]
        write_lines(root / "annotations" / f"image_labels_{split}.csv", labels)
        write_lines(root / "annotations" / f"annotations_{split}.csv", boxes)


def _build_kaggle(root: Path) -> None:
    rows = ["image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max"]
    for seed, readings in enumerate(_TRAIN):
        image = _write_film(root / "train", seed)
        for number, marks in enumerate(readings):
            for name in marks:
                if name in _KAGGLE:
                    head = [image, name, str(_KAGGLE.index(name)), f"R{8 + number}"]
                    rows.append(",".join([*head, *_box(seed, name, number)]))
    write_lines(root / "train.csv", rows)
    hidden = _write_film(root / "test", len(_TRAIN))
    write_lines(root / "sample_submission.csv", ["image_id,PredictionString", f"{hidden},14 1 0"])


def _write_film(folder: Path, seed: int) -> str:
    """Write one film and return its id, 32 hexadecimal digits as in the release."""
    image = hashlib.md5(f"{folder.name} {seed}".encode(), usedforsecurity=False).hexdigest()
    inverted = seed % 2 == 1
    areas = {_concept(name): _area(seed, name) for name in _drawn_names(seed)}
    pixels = film_with(areas, _SIDE, _SIDE, seed=seed, maximum=4095)
    write_dicom(
        folder / f"{image}.dicom",
        np.uint16(4095) - pixels if inverted else pixels,
        Modality="DX",
        PhotometricInterpretation="MONOCHROME1" if inverted else "MONOCHROME2",
        BitsStored=12,
        HighBit=11,
        PixelSpacing=[0.139, 0.139],
        WindowCenter=2047.5,
        WindowWidth=4095,
        PatientSex="O",
        PatientAge="",
    )
    return image


def _box(seed: int, name: str, reader: int) -> list[str]:
    """Corners around a finding, a pixel apart between readers; nothing for a normal image."""
    if name == "No finding":
        return ["", "", "", ""]
    return [f"{corner + reader}.0" for corner in bounds(_area(seed, name))]


def _drawn_names(seed: int) -> list[str]:
    """What two readers of three saw of the films of a seed, and the consensus of its test film.

    Of one seed both parts have one film, which they read differently: it shows what either saw.
    """
    marks = list(_TEST[seed])
    if seed < len(_TRAIN):
        votes = Counter(name for reading in _TRAIN[seed] for name in reading)
        marks += [name for name, count in votes.items() if count > 1]
    return [name for name in dict.fromkeys(marks) if _concept(name) in SIGNS]


def _area(seed: int, name: str) -> Mask:
    """Where a finding lies; any without a sign of its own lies where an opacity would."""
    which = 0 if name in {"Cardiomegaly", "Pneumothorax", "Pleural effusion"} else 5
    concept = _concept(name) if _concept(name) in SIGNS else "Lung Opacity"
    among = [_concept(other) for other in _drawn_names(seed)]
    return sign_area(concept, _SIDE, _SIDE, seed=seed, which=which, among=among)


def _concept(name: str) -> str:
    return _CONCEPTS.get(name, name)
