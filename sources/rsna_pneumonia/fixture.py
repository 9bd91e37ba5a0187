"""A few synthetic films in the four editions of the challenge data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_film import chest_film, lung_lesion
from medrcube.sources._synthetic.images import (
    CANARY,
    bounds,
    write_dicom,
    write_lines,
    write_picture,
)

_OTHER = "No Lung Opacity / Not Normal"
# Image id, class, number of boxes, view, age.
_FILMS = (
    ("0004cfab-14fd-4e49-80ba-63a80b6bddd6", _OTHER, 0, "PA", "51"),
    ("00313ee0-9eaa-42f4-b0ab-c148ed3241cd", "Normal", 0, "PA", "48"),
    ("00322d4d-1c29-4943-afc9-b6754be640eb", "Normal", 0, "AP", "155"),
    ("00436515-870c-4b36-a041-de91049b9ab4", "Lung Opacity", 2, "AP", "32"),
    ("00704310-78a8-4b38-8475-49f4573b2dbb", "Lung Opacity", 1, "PA", "75"),
)
_SIDE = 1024  # the frame of the boxes


def build(root: Path, layout: str) -> None:
    """Write films, their labels and, but for the PNG copy, the file that maps them to NIH names."""
    if layout == "mdai":
        _build_mdai(root)
        return
    for seed, (image, *_, view, age) in enumerate(_FILMS):
        if layout == "kaggle":
            path = root / "stage_2_train_images" / f"{image}.dcm"
            _write_film(path, seed, view=view, age=age)
        else:
            folder = "Training/Images" if layout == "png" else "stage_2_train_images_jpg"
            write_picture(root / folder / f"{image}.{layout}", _pixels(seed))
    if layout == "png":
        write_picture(root / "Training/Masks" / f"{_FILMS[3][0]}.png", 255 * _lesions(3, 2))
        rows = [f"{image},{name},{int(boxes > 0)}" for image, name, boxes, *_ in _FILMS]
        write_lines(root / "stage2_train_metadata.csv", ["patientId,class,Target", *rows])
        return
    _write_tables(root)
    entries = [
        {
            "subset_img_id": image,
            "img_id": f"{13427685 + seed // 2}_000.png",
            "orig_labels": [CANARY],
        }
        for seed, (image, *_) in enumerate(_FILMS)
    ]
    (root / "pneumonia-challenge-dataset-mappings_2018.json").write_text(json.dumps(entries))


def _write_tables(root: Path) -> None:
    """One table plain and one still packed; both have a row for every box."""
    labels, classes = ["patientId,x,y,width,height,Target"], ["patientId,class"]
    for seed, (image, name, boxes, *_) in enumerate(_FILMS):
        classes += [f"{image},{name}"] * max(boxes, 1)
        labels += [
            f"{image},{x0}.0,{y0}.0,{x1 - x0}.0,{y1 - y0}.0,1"
            for x0, y0, x1, y1 in (bounds(_lesion(seed, which)) for which in range(boxes))
        ] or [f"{image},,,,,0"]
    write_lines(root / "stage_2_train_labels.csv", labels)
    with ZipFile(root / "stage_2_detailed_class_info.csv.zip", "w") as archive:
        archive.writestr("stage_2_detailed_class_info.csv", "\n".join(classes))


def _build_mdai(root: Path) -> None:
    """Opacities are marked on the image, other classes on the study; one film is excluded."""
    ids = {"Lung Opacity (High Prob)": "L_1", "Normal": "L_2", _OTHER: "L_3", "Exclude": "L_4"}
    marks: list[dict[str, Any]] = []
    for seed, (_, name, boxes, view, age) in enumerate(_FILMS):
        study, series, image = (f"1.2.276.0.7230010.3.1.{part}.8323329.{seed}" for part in "234")
        folder = root / "mdai_rsna_project_x9N20BZa_images_2018-07-20-153330" / study / series
        _write_film(folder / f"{image}.dcm", seed, view=view, age=age)
        label = {"labelId": ids.get(name, "L_1"), "StudyInstanceUID": study, "data": None}
        for which in range(boxes):
            x0, y0, x1, y1 = bounds(_lesion(seed, which))
            box = {"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0}
            marks.append({**label, "SOPInstanceUID": image, "data": box})
        if not boxes:
            marks.append(label)
        if seed == 0:
            marks.append({**label, "labelId": "L_4"})
    groups = [{"labels": [{"id": key, "name": f"{name} "} for name, key in ids.items()]}]
    data = {"labelGroups": groups, "datasets": [{"annotations": marks}]}
    name = "pneumonia-challenge-annotations-adjudicated-kaggle_2018.json"
    (root / name).write_text(json.dumps(data))


def _write_film(path: Path, seed: int, *, view: str, age: str) -> None:
    write_dicom(
        path,
        _pixels(seed),
        Modality="CR",
        ViewPosition=view,
        PatientAge=age,
        PatientSex="F",
        PixelSpacing=[0.143, 0.143],
    )


def _pixels(seed: int) -> NDArray[np.uint8]:
    dense = _lesions(seed, _FILMS[seed][2])
    return chest_film(_SIDE, _SIDE, seed=seed, opacity=dense).astype(np.uint8)


def _lesions(seed: int, boxes: int) -> NDArray[np.bool_]:
    mask = np.zeros((_SIDE, _SIDE), np.bool_)
    for which in range(boxes):
        mask |= _lesion(seed, which)
    return mask


def _lesion(seed: int, which: int) -> NDArray[np.bool_]:
    return lung_lesion(_SIDE, _SIDE, seed=seed, which=5 * which)
