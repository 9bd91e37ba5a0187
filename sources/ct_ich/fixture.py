"""Synthetic patients in both windows: every type, several on one slice, a fracture, no mask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.head import head_ct
from medrcube.sources._synthetic.images import CANARY, write_lines, write_picture

_TYPES = ("Intraventricular", "Intraparenchymal", "Subarachnoid", "Epidural", "Subdural")
# What each slice of each patient shows, from 1 on: first letters of the types, f for a fracture.
PATIENTS = {
    49: ("", "e", "e f", "e f", ""),
    50: ("", "", "", "", ""),
    51: ("", "ip", "ip iv", "iv", "iv"),
    66: ("", "sd", "sd", "sa", ""),
    67: ("", "", "f", "", ""),
    68: ("", "sa", "sa", "", ""),
    84: ("", "", "", "", "sd ip"),
    130: ("", "ip", "ip", "", ""),
}
_LETTERS = {"iv": "Intraventricular", "ip": "Intraparenchymal", "sa": "Subarachnoid"}
_LETTERS |= {"e": "Epidural", "sd": "Subdural"}
_LACKS = (84, 5)
"""The slice without an image in the bone window, as in the release."""
SIDE = 650
_SIDE = 130


def build(root: Path, layout: str) -> None:
    """Write slices in both windows, masks of slices with blood, and the table with its mark."""
    del layout
    columns = ("PatientNumber", "SliceNumber", *_TYPES, "No_Hemorrhage", "Fracture_Yes_No")
    rows = ["\ufeff" + ",".join(columns)]
    for patient, slices in PATIENTS.items():
        for number, words in enumerate(slices, 1):
            letters = words.split()
            types = {_LETTERS[word] for word in letters if word in _LETTERS}
            folder = root / f"Patients_CT/{patient:03}"
            _write(folder, patient, number, types, fracture="f" in letters)
            flags = [int(name in types) for name in _TYPES]
            cells = (patient, number, *flags, int(not types), int("f" in letters))
            rows.append(",".join(map(str, cells)))
    write_lines(root / "hemorrhage_diagnosis.csv", rows, newline="\r\n")
    write_lines(root / "Patient_demographics.csv", [f"Patient Number,Gender,{CANARY}"])


def _write(folder: Path, patient: int, number: int, types: set[str], *, fracture: bool) -> None:
    level = 0.12 * number - 0.3
    bleeds = frozenset(name.lower() for name in types)
    units = head_ct(_SIDE, _SIDE, seed=patient, level=level, bleeds=bleeds, fracture=fracture)
    write_picture(folder / f"brain/{number}.jpg", _windowed_pixels(units, 40, 120))
    if (patient, number) != _LACKS:
        write_picture(folder / f"bone/{number}.jpg", _windowed_pixels(units, 700, 3200))
    if types:
        dry = head_ct(_SIDE, _SIDE, seed=patient, level=level, fracture=fracture)
        blood = np.abs(units - dry) > 12
        write_picture(folder / f"brain/{number}_HGE_Seg.jpg", _large(_solid(blood) * 255))


def _solid(blood: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Without the specks that noise makes: of a pixel and its eight neighbours most are marked."""
    around = sum(np.roll(blood, (y, x), (0, 1)).astype(int) for y in (-1, 0, 1) for x in (-1, 0, 1))
    return (np.asarray(around) > 5).astype(np.uint8)


def _windowed_pixels(units: NDArray[np.int64], level: int, width: int) -> NDArray[np.uint8]:
    return _large((255 * np.clip((units - level) / width + 0.5, 0, 1)).astype(np.uint8))


def _large(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    times = SIDE // _SIDE
    return np.asarray(np.kron(pixels, np.ones((times, times), np.uint8)))
