"""Cheng's brain tumours as the evidence card describes them: one MATLAB v7.3 file a slice."""

import h5py
import numpy as np
from independent.paint import boxed, scene

SIZE = 96
LESION = (52, 20, 76, 34)
FOLDER = "dataset/data"
SMALL_LESION = (30, 8, 40, 16)

# file number: label, patient, fold
FILES = {
    1: (1, "100360", 5),
    2: (1, "100360", 5),
    10: (1, "10036", 2),
    209: (2, "MR040241B", 1),
    918: (3, "96020961", 3),
    3063: (1, "MR0402414", 1),
}


def write(root):
    folder = root / FOLDER
    folder.mkdir(parents=True)
    folds = np.ones(3064)
    for number, (label, patient, fold) in FILES.items():
        folds[number - 1] = fold
        mask = boxed((SIZE, SIZE), LESION)
        _mat(folder / f"{number}.mat", label, patient, scene(SIZE, SIZE, number), mask)
    empty = np.zeros((SIZE, SIZE), bool)
    _mat(folder / "300.mat", 1, "77", scene(SIZE, SIZE, 300), empty)
    _mat(folder / "301.mat", 1, "78", scene(SIZE, SIZE, 301), empty[:-8])
    with h5py.File(folder / "cvind.mat", "w") as file:
        file["cvind"] = folds.reshape(1, -1)


def write_bad_label(root):
    write(root)
    mask = boxed((SIZE, SIZE), LESION)
    _mat(root / FOLDER / "302.mat", 4, "79", scene(SIZE, SIZE, 302), mask)


def _mat(path, label, patient, picture, mask):
    x0, y0, x1, y1 = (value + 1 for value in LESION)
    with h5py.File(path, "w", userblock_size=512) as file:
        group = file.create_group("cjdata")
        group["PID"] = np.array([[ord(letter)] for letter in patient], np.uint16)
        group["label"] = np.array([[float(label)]])
        group["image"] = picture.astype(np.int16).T
        border = [x0, y0, x1, y0, x1, y1, x0, y1]
        group["tumorBorder"] = np.array([border], float)
        group["tumorMask"] = mask.astype(np.uint8).T
        group["tumorMask"].attrs["MATLAB_class"] = np.bytes_("logical")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: PCWIN64, HDF5 schema 1.00 .".ljust(124))
        file.write(b"\x00\x02IM")


TUMOURS = {1: "meningioma", 2: "glioma", 3: "pituitary tumor"}


def _fact(number):
    label, patient, fold = FILES[number]
    return {
        "present": [TUMOURS[label], "T1c"],
        "never": [name for name in TUMOURS.values() if name != TUMOURS[label]]
        + ["axial", "coronal", "sagittal"],
        "patient": patient,
        "split": f"fold {fold}",
        "regions": {"*": [LESION]},
        "shows": scene(SIZE, SIZE, number).astype(np.int16),
    }


EXPECTED = {
    "cases": {f"{FOLDER}/{number}.mat": _fact(number) for number in FILES},
    "never": [f"{FOLDER}/cvind.mat"],
    "no_picture": [f"{FOLDER}/300.mat", f"{FOLDER}/301.mat"],
}
EXPECTED_BAD_LABEL = {
    "refused_or": {"no_picture": [f"{FOLDER}/302.mat"]},
    "cases": {},
}
VARIANTS = {"bad_label": (write_bad_label, EXPECTED_BAD_LABEL)}
