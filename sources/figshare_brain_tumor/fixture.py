"""A few synthetic slices as MATLAB 7.3 files: column-major arrays after a MATLAB header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.head import brain_mr
from medrcube.sources._synthetic.images import CANARY, lesion, write_lines

_LABELS = {1: 1, 16: 1, 58: 1, 59: 3, 209: 2, 715: 2, 956: 3, 1841: 2, 3064: 1}
_SMALL = (956,)


def build(root: Path, layout: str) -> None:
    """Write numbered slices, some of one patient, and the folds of all 3,064."""
    del layout
    root.mkdir(parents=True, exist_ok=True)
    for number, label in _LABELS.items():
        side = 96 if number in _SMALL else 192
        patient = f"{CANARY}{number // 50}"
        members: dict[str, NDArray[Any]] = {
            "PID": np.array([[ord(letter) for letter in patient]], np.uint16),
            "image": _slice(side, number),
            "label": np.array([[label]], np.float64),
            "tumorBorder": _border(side, number),
            "tumorMask": lesion(side, side, seed=number).astype(np.uint8),
        }
        _write(root / f"{number}.mat", {f"cjdata/{name}": a for name, a in members.items()})
    folds = np.arange(3064, dtype=np.float64)[:, None] % 5 + 1
    _write(root / "cvind.mat", {"cvind": folds})
    write_lines(root / "README.txt", ["synthetic slices"])


def _slice(side: int, seed: int) -> NDArray[np.int16]:
    tumour = lesion(side, side, seed=seed)
    return brain_mr(side, side, seed=seed, maximum=3000, lesion=tumour).astype(np.int16)


def _border(side: int, seed: int) -> NDArray[np.float64]:
    rows, columns = np.nonzero(lesion(side, side, seed=seed))
    corners = [columns.min(), rows.min(), columns.max(), rows.max()]
    return np.array([corners], np.float64) + 1


def _write(path: Path, members: dict[str, NDArray[Any]]) -> None:
    import h5py  # noqa: PLC0415

    kinds = {"PID": "char", "label": "double", "tumorBorder": "double", "cvind": "double"}
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in members.items():
            dataset = file.create_dataset(name, data=array.T)
            last = name.rpartition("/")[2]
            kind = kinds.get(last, "logical" if last == "tumorMask" else "int16")
            dataset.attrs["MATLAB_class"] = np.bytes_(kind)
            if kind in {"char", "logical"}:
                dataset.attrs["MATLAB_int_decode"] = np.int32(2 if kind == "char" else 1)
    header = b"MATLAB 7.3 MAT-file, Platform: PCWIN64, HDF5 schema 1.00 .".ljust(124)
    with path.open("r+b") as file:
        file.write(header + b"\x00\x02IM")
