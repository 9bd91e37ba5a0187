"""A few synthetic films with readings as people typed them, and the two copies of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_film import chest_film, lungs
from medrcube.sources._synthetic.chest_signs import film_with, sign_area
from medrcube.sources._synthetic.images import write_lines, write_picture

_FILMS = {
    "CHNCXR_0001_0": ("male 45yrs", "normal"),
    "CHNCXR_0002_0": ("femal 32yrs", "normal"),
    "CHNCXR_0003_0": ("female 64days", "normal"),
    "CHNCXR_0004_0": ("male 42", "bilateral PTB"),
    "CHNCXR_0327_1": ("male , 29yrs\t", "bilateral secondary PTB"),
    "CHNCXR_0328_1": ("Female, 28yrs", "1.ATB in the right upper field\n2.pleuritis"),
    "CHNCXR_0329_1": ("male 16month", "STB"),
}
_WITHOUT_MASK = "CHNCXR_0002_0"
_COLOURED = "CHNCXR_0328_1"
_HEIGHT, _WIDTH = 160, 150


def build(root: Path, layout: str) -> None:
    """Write films, masks and readings where each edition has them."""
    folder = {
        "nlm": "ChinaSet_AllFiles/ChinaSet_AllFiles/CXR_png",
        "raddar": "images/images",
        "masked": "Lung Segmentation/CXR_png",
    }[layout]
    rows = ["study_id,sex,age,findings"]
    for seed, (name, (person, text)) in enumerate(_FILMS.items()):
        both = np.logical_or(*lungs(_HEIGHT, _WIDTH, seed=seed))
        pixels = _film(seed, text)
        if name == _COLOURED:
            pixels = np.stack([pixels] * 3, axis=2)
        write_picture(root / folder / f"{name}.png", pixels)
        sex = "Female" if person.lower().startswith("f") else "Male"
        age = "".join(letter for letter in person if letter.isdigit())
        rows.append(f"{name}.png,{sex},{age},{text.splitlines()[0]}")
        if layout == "nlm":
            readings = root / "ChinaSet_AllFiles/ChinaSet_AllFiles/ClinicalReadings"
            write_lines(readings / f"{name}.txt", [person, text])
        if name != _WITHOUT_MASK and layout != "raddar":
            masks = "shcxr-lung-mask/mask/mask" if layout == "nlm" else "Lung Segmentation/masks"
            write_picture(root / masks / f"{name}_mask.png", 255 * both)
    if layout == "raddar":
        write_lines(root / "shenzhen_metadata.csv", rows)
    if layout == "masked":
        write_picture(root / folder / "MCUCXR_0001_0.png", chest_film(_HEIGHT, _WIDTH, seed=91))


def _film(seed: int, text: str) -> NDArray[np.uint16]:
    """A film with a cavity in the upper zone of the right lung, or of both as the reading says."""
    sides = () if text == "normal" else (0, 1) if "bilateral" in text else (0,)
    size = (_HEIGHT, _WIDTH)
    areas = [sign_area("Tuberculosis", *size, seed=seed, which=which) for which in sides]
    return film_with({"Tuberculosis": np.any(areas, axis=0)} if areas else {}, *size, seed=seed)
