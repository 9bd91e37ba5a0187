"""A synthetic TotalSegmentator: chests with and without a sick lung, and a scan of the abdomen."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.images import CANARY, write_lines, write_nifti
from medrcube.sources._synthetic.whole_chest import abdomen, whole_chest

SCANS = {
    "s0000": ("ct thorax", "no_pathology", ""),
    "s0001": ("ct polytrauma", "trauma", "spine"),
    "s0002": ("ct thorax-neck", "no_pathology", ""),
    "s0003": ("ct thorax-abdomen-pelvis", "tumor", "lung"),
    "s0004": ("ct thorax", "", ""),
    "s0011": ("ct abdomen-pelvis", "", ""),
}
NOT_CHEST = "s0011"
IN_V1 = ("s0000", "s0001", NOT_CHEST)
COUNT, SIDE = 60, 120
CLASSES = {"v1": 104, "v2": 117}
COLUMNS = {
    "v1": "image_id;age;gender;institute;study_type;split",
    "v2": "image_id;age;gender;institute;study_type;split;manufacturer;scanner_model;kvp;pathology;"
    "pathology_location",
}
BOTH = {
    "aorta": "aorta",
    "trachea": "trachea",
    "esophagus": "esophagus",
    "lung_upper_lobe_left": "left upper lobe",
    "lung_lower_lobe_left": "left lower lobe",
    "lung_upper_lobe_right": "right upper lobe",
    "lung_middle_lobe_right": "right middle lobe",
    "lung_lower_lobe_right": "right lower lobe",
}
ALONE = {
    "v1": {
        "heart_ventricle_left": "left ventricle",
        "heart_ventricle_right": "right ventricle",
        "heart_myocardium": "myocardium",
        "heart_atrium_left": "left atrium",
        "heart_atrium_right": "right atrium",
        "pulmonary_artery": "pulmonary artery",
    },
    "v2": {
        "heart": "heart",
        "superior_vena_cava": "superior vena cava",
        "sternum": "sternum",
        "spinal_cord": "spinal cord",
    },
}
"""File name -> part of the phantom."""


def build(root: Path, layout: str) -> None:
    """Write the scans, the masks of each and the table."""
    top = root / ("Totalsegmentator_dataset_v201" if layout == "v2" else "Totalsegmentator_dataset")
    rows = [f"\ufeff{COLUMNS[layout]}"]
    for seed, (name, (study, pathology, place)) in enumerate(SCANS.items()):
        if layout == "v1" and name not in IN_V1:
            continue
        split = ("train", "train", "train", "val", "test", "train")[seed]
        more = f";siemens;{CANARY};120;{pathology};{place}" if layout == "v2" else ""
        rows.append(f"{name};{50 + seed};{'mf'[seed % 2]};A;{study};{split}{more}")
        _scan(top / name, layout, seed)
    write_lines(top / "meta.csv", rows)


def _scan(folder: Path, layout: str, seed: int) -> None:
    parts: dict[str, NDArray[np.bool_]] = {}
    if folder.name == NOT_CHEST:
        volume = abdomen(COUNT, SIDE, seed=seed)
    else:
        volume, parts = whole_chest(COUNT, SIDE, seed=seed)
    _write(folder / "ct.nii.gz", volume)
    names = BOTH | ALONE[layout]
    first = folder / "segmentations/other_001.nii.gz"
    _write(first, np.zeros(volume.shape, np.uint8))
    for number in range(2, CLASSES[layout] - len(names) + 1):
        shutil.copyfile(first, first.with_name(f"other_{number:03}.nii.gz"))
    for name, part in names.items():
        mask = parts.get(part, np.zeros(volume.shape, np.bool_))
        _write(first.with_name(f"{name}.nii.gz"), mask.astype(np.uint8))


def _write(path: Path, volume: NDArray[np.int16] | NDArray[np.uint8]) -> None:
    """Axes to right, anterior and superior, as in every scan of the small set."""
    write_nifti(path, volume[:, ::-1, ::-1], spacing=(1.5, 1.5, 1.5))
