"""A few synthetic films with a mask for each lung, and the copy that merges the masks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_film import chest_film, lungs
from medrcube.sources._synthetic.chest_signs import film_with, sign_area
from medrcube.sources._synthetic.images import write_lines, write_picture

_FILMS = {
    "MCUCXR_0001_0": ("F", 27, "normal"),
    "MCUCXR_0052_0": ("M", 49, "normal"),
    "MCUCXR_0080_0": ("M", 5, "normal"),
    "MCUCXR_0085_0": ("M", 33, "Cavitary infiltrate in the right upper lobe"),
    "MCUCXR_0162_1": ("F", 61, "infiltrates in both upper lobes\nand a cavity at the left"),
    "MCUCXR_0170_1": ("F", 61, "NO REPORT (same pt as MCUCXR_0162_1)"),
    "MCUCXR_0399_1": ("O", 40, "left apical scars, cultures negative"),
}
_HEIGHT, _WIDTH = 150, 180
_MASKS = ("leftMask", "rightMask")
"""Folder of the masks of each lung, from the left of the image."""


def build(root: Path, layout: str) -> None:
    """Write films and masks; ``nlm`` adds readings, ``mixed`` films of another hospital."""
    if layout == "raddar":
        _build_table(root)
        return
    top = root / ("MontgomerySet" if layout == "nlm" else "Lung Segmentation")
    for seed, (name, (sex, age, text)) in enumerate(_FILMS.items()):
        masks = dict(zip(_MASKS, lungs(_HEIGHT, _WIDTH, seed=seed), strict=True))
        both = np.logical_or(*masks.values())
        pixels = _film(seed, text)
        write_picture(top / "CXR_png" / f"{name}.png", pixels)
        if layout == "mixed":
            write_picture(top / "masks" / f"{name}.png", 255 * both)
            continue
        for folder, lung in masks.items():
            write_picture(top / "ManualMask" / folder / f"{name}.png", 255 * lung)
        lines = [f"Patient's Sex: {sex} ", f"Patient's Age: {age:03}Y ", text]
        write_lines(top / "ClinicalReadings" / f"{name}.txt", lines, newline="\r\n")
    if layout == "mixed":
        write_picture(top / "CXR_png" / "CHNCXR_0001_0.png", chest_film(_HEIGHT, _WIDTH, seed=90))
        write_picture(
            top / "masks" / "CHNCXR_0001_0_mask.png", 255 * lungs(_HEIGHT, _WIDTH, seed=90)[0]
        )


def _build_table(root: Path) -> None:
    """Write films, and their readings as one table."""
    lines = ["study_id,age,gender,findings"]
    for seed, (name, (sex, age, text)) in enumerate(_FILMS.items()):
        pixels = _film(seed, text)
        write_picture(root / "images" / "images" / f"{name}.png", pixels)
        lines.append(f'{name}.png,{age},{sex},"{text}"')
    write_lines(root / "montgomery_metadata.csv", lines)


def _film(seed: int, text: str) -> NDArray[np.uint16]:
    """A film with a cavity in the upper zone of each lung that the reading names."""
    sides_read = [which for which, word in enumerate(("right", "left")) if word in text]
    sides = () if text == "normal" else (0, 1) if "both" in text else (sides_read or [0])
    size = (_HEIGHT, _WIDTH)
    areas = [sign_area("Tuberculosis", *size, seed=seed, which=which) for which in sides]
    return film_with({"Tuberculosis": np.any(areas, axis=0)} if areas else {}, *size, seed=seed)
