"""Synthetic scans of each group: names without order, one UID for all slices, padded arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.chest_ct import chest, tumour
from medrcube.sources._synthetic.dicom import Series, write_series
from medrcube.sources._synthetic.images import CANARY, write_lines

FOLDERS = {
    "COVID-19 subjects": ("P001", "P002", "P044", "P055"),
    "Cap subjects": ("cap001", "cap025"),
    "Normal subjects": ("normal001", "normal002", "normal076"),
}
ROWS = (*(f"P{n:03}" for n in range(1, 55)), *(f"cap{n:03}" for n in range(1, 26)))
ONE_UID = ("P002", "normal002")
"""Scans that were stripped of identity again: all slices share one UID, which is none."""
_LESION_SLICES = (4, 6)
"""Slices with the lesion, from the head; of each other scan in the arrays one less."""


def build(root: Path, layout: str) -> None:
    """Write nine scans, the index and both editions of the labels."""
    del layout
    for folder, names in FOLDERS.items():
        for name in names:
            _write(root / folder / name, name, infected=folder != "Normal subjects")
    flags = np.zeros((len(ROWS), 200), np.int64)
    for row, name in enumerate(ROWS):
        flags[
            row, _LESION_SLICES[0] : _LESION_SLICES[1] - (name not in sum(FOLDERS.values(), ()))
        ] = 1
    np.save(root / "Slice-level-labels-updated-1.npy", flags.astype(np.int32))
    flags[0, 8] = 1  # withdrawn by the update
    np.save(root / "Slice-level-labels.npy", flags)
    np.save(root / "Lobe-level-labels.npy", np.repeat(flags[..., None], 5, axis=2).astype(float))
    numbers = [row + (row > 42) for row in range(len(ROWS))]  # the column skips 43
    lines = [
        f"{number},{'COVID-19' if name[0] == 'P' else 'CAP'},./{name[0]}/,{name}"
        for number, name in zip(numbers, ROWS, strict=True)
    ]
    header = "Label Index,Diagnosis,Relative Path,Folder/ID"
    write_lines(root / "Index.csv", [header, *lines], newline="\r\n")


def _write(folder: Path, name: str, *, infected: bool) -> None:
    seed = sum(name.encode())
    lesion = tumour(seed=seed, radius=14.0, height=1) if infected else None
    if lesion is not None:  # from foot to head; the arrays count from the head
        top = len(lesion) - 1
        rows = lesion.max(axis=0)
        lesion[:] = False
        lesion[top - _LESION_SLICES[1] + 1 : top - _LESION_SLICES[0] + 1] = rows
    volume = chest(seed=seed, tumour=lesion)
    scan = Series(name=name, patient=f"{CANARY}-{name}", volume=volume, spacing=(2.0, 2.0))
    same = {"SOPInstanceUID": "0f8fad5b-d9cb-469f-a165-70867728950e"} if name in ONE_UID else {}
    pattern = "IM{:04}.dcm" if name in ONE_UID else "98C1066-ASAD_{}.dcm"
    write_series(folder, scan, pattern=pattern, WindowCenter=[50, -600], **same)
    if name not in ONE_UID:  # file names are no order of slices
        first, last = (folder / pattern.format(n) for n in (2, 9))
        aside = first.rename(folder / "aside")
        last.rename(first)
        aside.rename(last)
