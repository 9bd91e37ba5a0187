"""A few synthetic studies in each shape of the release, and masks of CheXlocalize."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_signs import SIGNS, film_with, sign_area
from medrcube.sources._synthetic.images import write_lines, write_picture
from medrcube.sources._synthetic.shapes import Mask

_NAMES = (
    *("No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion"),
    *("Edema", "Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices"),
)
_MASKED = (*_NAMES[1:7], *_NAMES[8:11], _NAMES[13])
_WHO = "Path,Sex,Age,Frontal/Lateral,AP/PA"
# Image, what stands before the labels, and one sign a label: present, absent, uncertain, silent.
_TRAIN = (
    ("patient00001/study1/view1_frontal", "Female,68,Frontal,AP", "+........-...+"),
    ("patient00002/study1/view1_frontal", "Female,87,Frontal,AP", "..-+.-..-...+."),
    ("patient00002/study1/view2_lateral", "Female,87,Lateral,", "..-+.-..-...+."),
    ("patient33093/study1/view1_frontal", "Unknown,0,Frontal,LL", "+............."),
    ("patient43018/study2/view1_frontal", "Male,90,Frontal,PA", "....+...?..+.."),
)
_VALID = (
    ("patient64541/study1/view1_frontal", "Male,73,Frontal,AP", "-+++----------"),
    ("patient64542/study1/view1_frontal", "Male,70,Frontal,PA", "+-------------"),
    ("patient64542/study1/view2_lateral", "Male,70,Lateral,", "+-------------"),
    ("patient64543/study1/view1_frontal", "Female,31,Frontal,AP", "---+---+---+++"),
)
_TEST = (
    ("patient64741/study1/view1_frontal", "", "---+--+-------"),
    ("patient64742/study1/view1_frontal", "", "---++++-++++++"),
)
_SIGNS = {"+": "1.0", "-": "0.0", "?": "-1.0", ".": ""}
_FOLDERS = {"small": "CheXpert-v1.0-small", "full": "CheXpert-v1.0"}
_SIDE = (150, 170)


def build(root: Path, layout: str) -> None:
    """Write images and tables of one shape."""
    if layout == "localize":
        _build_localize(root)
        return
    if layout == "batches":
        home = root / "CheXpert-v1.0 batch 1 (validate & csv)"
        for path, _, signs in _TRAIN:
            number = 4 if path >= "patient43018" else 2
            _film(root / f"CheXpert-v1.0 batch {number} (train {number - 1})" / path, path, signs)
    else:
        home = root / _FOLDERS[layout]
        for path, _, signs in _TRAIN:
            _film(home / "train" / path, path, signs)
    for path, _, signs in _VALID:
        _film(home / "valid" / path, path, signs)
    for split, rows in (("train", _TRAIN), ("valid", _VALID)):
        start = f"CheXpert-v1.0{'-small' if layout == 'small' else ''}/{split}/"
        lines = [f"{start}{path}.jpg,{who},{_cells(signs)}" for path, who, signs in rows]
        write_lines(home / f"{split}.csv", [",".join((_WHO, *_NAMES)), *lines])


def _build_localize(root: Path) -> None:
    for split, rows in (("val", _VALID), ("test", _TEST)):
        masks = {}
        lines = [",".join(("Path", *_NAMES))]
        for path, _, signs in rows:
            _film(root / "CheXpert" / split / path, path, signs)
            lines.append(f"{split}/{path}.jpg,{_cells(signs)}")
            states = dict(zip(_NAMES, signs, strict=True))
            if any(states[name] == "+" for name in _MASKED):
                masks[path.replace("/", "_")] = _masks(path, states)
        write_lines(root / "CheXpert" / f"{split}_labels.csv", lines)
        target = root / "CheXlocalize" / f"gt_segmentations_{split}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(masks))


def _masks(path: str, states: dict[str, str]) -> dict[str, object]:
    """Ten masks of one image; an absent finding is all zero, an effusion lies on both sides."""
    masks: dict[str, object] = {}
    for name in _MASKED:
        mask = np.zeros(_SIDE, np.bool_)
        if states[name] == "+":
            mask = _area(name, path, [label for label in _NAMES if states[label] == "+"])
        label_name = "Airspace Opacity" if name == "Lung Opacity" else name
        masks[label_name] = {"size": list(_SIDE), "counts": _coco(mask)}
    return masks


def _coco(mask: NDArray[np.bool_]) -> str:
    """The compressed run lengths of COCO, down the columns."""
    lengths = [0] * bool(mask[0, 0])
    lengths += [len(list(run)) for _, run in groupby(mask.ravel(order="F"))]
    text = ""
    for number, length in enumerate(lengths):
        rest, more = length - (lengths[number - 2] if number > 2 else 0), True
        while more:
            group, rest = rest & 31, rest >> 5
            more = rest != (-1 if group & 16 else 0)
            text += chr((group | (32 if more else 0)) + 48)
    return text


def _cells(signs: str) -> str:
    return ",".join(_SIGNS[sign] for sign in signs)


def _film(path: Path, name: str, signs: str) -> None:
    findings = [label for label, sign in zip(_NAMES, signs, strict=True) if sign == "+"]
    areas = {label: _area(label, name, findings) for label in findings if label in SIGNS}
    film = film_with(areas, *_SIDE, seed=_seed(name), lateral=name.endswith("lateral"))
    write_picture(path.with_suffix(".jpg"), film)


def _area(label: str, name: str, findings: Sequence[str]) -> Mask:
    """Where a label shows; an effusion lies on both sides."""
    areas = [
        sign_area(label, *_SIDE, seed=_seed(name), which=which, among=findings)
        for which in ((0, 1) if label == "Pleural Effusion" else (None,))
    ]
    return np.asarray(np.any(areas, axis=0))


def _seed(path: str) -> int:
    return int(path[7:12])
