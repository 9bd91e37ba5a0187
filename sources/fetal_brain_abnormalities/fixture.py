"""Synthetic heads of every class, spelt as in the export, with wide ventricles, cysts and sacs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.images import CANARY, write_lines, write_picture
from medrcube.sources._synthetic.shapes import Ellipse, places, radius, soft
from medrcube.sources._synthetic.ultrasound import Plane, fetal_plane

SIZE = (160, 208)
SPLITS = ("train", "train", "valid", "test", "train")
README = (
    "",
    "Fetal Brain Abnormalities Ultrasound - v1",
    "==============================",
    "",
    f"This dataset was exported via roboflow.com by {CANARY}",
    "",
    "The following pre-processing was applied to each image:",
    "* Auto-orientation of pixel data (with EXIF-orientation stripping)",
    "* Resize to 640x640 (Stretch)",
    "",
    "No image augmentation techniques were applied.",
    "",
)
# Plane, fluid in it (row, column, half axes), and number of images.
DRAWINGS: Mapping[str, tuple[Plane, Ellipse | None, int]] = {
    "anold-chiari-malformation": ("cerebellum", (0.52, 0.4, 0.05, 0.12), 2),
    "arachnoid-cyst": ("brain", (0.46, 0.6, 0.1, 0.1), 2),
    "cerebellah-hypoplasia": ("cerebellum", (0.52, 0.3, 0.05, 0.05), 2),
    "colphocephaly": ("ventricle", (0.62, 0.34, 0.07, 0.08), 2),
    "encephalocele": ("brain", (0.5, 0.14, 0.1, 0.07), 2),
    "holoprosencephaly": ("brain", (0.5, 0.5, 0.12, 0.2), 2),
    "hydracenphaly": ("brain", (0.52, 0.5, 0.22, 0.27), 2),
    "intracranial-hemorrdge": ("ventricle", None, 2),
    "intracranial-tumor": ("brain", None, 1),
    "m-magna": ("cerebellum", (0.52, 0.27, 0.09, 0.03), 2),
    "mild-ventriculomegaly": ("ventricle", (0.62, 0.42, 0.05, 0.13), 5),
    "moderate-ventriculomegaly": ("ventricle", (0.62, 0.42, 0.065, 0.15), 2),
    "normal": ("brain", None, 3),
    "polencephaly": ("brain", (0.4, 0.66, 0.07, 0.06), 1),
    "severe-ventriculomegaly": ("ventricle", (0.62, 0.44, 0.1, 0.2), 5),
    "vein-of-galen": ("brain", (0.52, 0.42, 0.05, 0.07), 2),
}


def build(root: Path, layout: str) -> None:
    """Write the classes over three splits, and a repeated name."""
    del layout
    folder = root / "Fetal-Brain-Abnormalities-Ultrasound-1"
    write_lines(folder / "README.roboflow.txt", README)
    write_lines(folder / "README.dataset.txt", [f"Provided by {CANARY}", "License: CC BY 4.0"])
    seed = 0
    for label, (plane, fluid, count) in DRAWINGS.items():
        for number in range(count):
            seed += 1
            write_picture(_place(folder, label, number, seed), _head(seed, plane, fluid))
    for split in ("train", "valid"):  # one name twice: what an augmented export looks like
        seed += 1
        name = f"arachnoid-cyst/twice_png.rf.{seed * 7919:032x}.jpg"
        write_picture(folder / split / name, _head(90, "brain", DRAWINGS["arachnoid-cyst"][1]))


def _place(folder: Path, label: str, number: int, seed: int) -> Path:
    """Original names repeat from class to class."""
    extension = ("jpg", "png", "jpeg")[seed % 3]
    name = f"{number + 1}_{extension}.rf.{seed * 7919:032x}.jpg"
    return folder / SPLITS[number] / label / name


def _head(seed: int, plane: Plane, fluid: Ellipse | None) -> NDArray[np.uint8]:
    picture = fetal_plane(*SIZE, seed=seed, plane=plane)
    if fluid is None:
        return picture
    y, x = places(*SIZE)
    dark = soft(radius(y, x, fluid), 0.15)
    return np.asarray(picture * (1 - 0.9 * dark), np.uint8)
