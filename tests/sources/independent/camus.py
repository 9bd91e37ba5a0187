"""CAMUS as its evidence card describes it, in the NIfTI and in the MetaImage edition."""

import nibabel as nib
import numpy as np
import SimpleITK
from independent.paint import scene

ACROSS, DEEP = 40, 96
"""Stored columns and rows; a column is twice as wide as a row is high."""
SIZE = (96, 80)
CAVITY = {"ED": (36, 16, 52, 48), "ES": (38, 18, 50, 46)}
WALL, ATRIUM = (28, 10, 60, 56), (34, 60, 58, 78)
"""Boxes in a picture of square pixels."""

# patient: sex, age, quality of 2CH and 4CH, EF, ED and ES frame, list of the split
NIFTI = {
    "patient0001": ("F", "56", ("Good", "Good"), 54, 1, 18, "testing"),
    "patient0002": ("M", "nan", ("Medium", "Good"), 39, 20, 1, "training"),
    "patient0003": ("M", "71", ("Poor", "Good"), 55, 1, 17, "validation"),
    "patient0004": ("F", "64", ("Good", "Medium"), 40, 1, 16, "training"),
    "patient0005": ("F", "44", ("Good", "Good"), 25, 1, 16, None),
}
FLOATS = {"patient0004", "patient0005"}
"""Patients whose frames are stored as numbers from 0 to 255 with a fraction."""
BANDS = ("LVEF >= 55", "LVEF 40-54", "LVEF 30-39", "LVEF < 30")


def write(root):
    base = root / "CAMUS_public"
    lists = {"training": [], "validation": [], "testing": []}
    for number, (name, row) in enumerate(NIFTI.items()):
        sex, age, quality, ef, ed, es, split = row
        if split:
            lists[split].append(name)
        folder = base / "database_nifti" / name
        folder.mkdir(parents=True)
        for view, grade in zip(("2CH", "4CH"), quality, strict=True):
            info = {"ED": ed, "ES": es, "NbFrame": max(ed, es), "Sex": sex, "Age": age}
            info |= {"ImageQuality": grade, "EF": ef, "FrameRate": 57.3}
            _cfg(folder / f"Info_{view}.cfg", info)
            for phase in ("ED", "ES"):
                stem = f"{name}_{view}_{phase}"
                kind = np.float32 if name in FLOATS else np.uint8
                image = _image(number, view, phase).T.astype(kind)
                labels = _labels(phase).T.astype(np.float32)
                if number == 3:  # a third axis of one, and labels that are not quite whole
                    image, labels = image[..., None], labels[..., None] + np.float32(1e-6)
                _nifti(folder / f"{stem}.nii.gz", image, flipped=number == 1)
                _nifti(folder / f"{stem}_gt.nii.gz", labels, flipped=number == 1)
            cine = np.stack([_image(number, view, p).T for p in ("ED", "ES")], axis=-1)
            marks = np.stack([_labels(p).T for p in ("ED", "ES")], axis=-1)
            _nifti(folder / f"{name}_{view}_half_sequence.nii.gz", cine.astype(np.uint8))
            _nifti(folder / f"{name}_{view}_half_sequence_gt.nii.gz", marks.astype(np.uint8))
    (base / "database_split").mkdir()
    for split, names in lists.items():
        path = base / "database_split" / f"subgroup_{split}.txt"
        path.write_text("".join(f"{name}\n" for name in names))


# folder: quality, LVef, ED and ES frame; the second is another person than the first
META = {
    "training/patient0001": ("Good", 54.6, 1, 18),
    "training/patient0002": ("Good", 39.5, 21, 1),
    "training/patient0003": ("Medium", 29.9, 1, 15),
    "training/patient0004": ("Good", 61.2, 1, 15),
    "testing/patient0001": ("Good", None, 1, 12),
}


def write_meta(root):
    for number, (place, (quality, ef, ed, es)) in enumerate(META.items()):
        folder = root / place
        folder.mkdir(parents=True)
        for view in ("2CH", "4CH"):
            info = {"ED": ed, "ES": es, "NbFrame": max(ed, es), "Sex": "M", "Age": 60}
            info |= {"ImageQuality": quality}
            if ef is not None:
                info |= {"LVedv": 94.2, "LVesv": round(94.2 * (1 - ef / 100), 1), "LVef": ef}
            _cfg(folder / f"Info_{view}.cfg", info)
            stem = f"{folder.name}_{view}"
            frames = [_image(10 + number, view, phase) for phase in ("ED", "ES")]
            for phase, frame in zip(("ED", "ES"), frames, strict=True):
                _mhd(folder / f"{stem}_{phase}.mhd", frame[None])
                if place.startswith("training"):
                    _mhd(folder / f"{stem}_{phase}_gt.mhd", _labels(phase)[None])
            _mhd(folder / f"{stem}_sequence.mhd", np.stack(frames))
    ted = root / "training" / "patient001"
    ted.mkdir()
    _mhd(ted / "patient001_4CH_sequence.mhd", np.stack([_image(99, "4CH", "ED")] * 2))
    _cfg(ted / "patient001_4CH_info.cfg", {"ED": 1, "ES": 2, "NbFrame": 2})


def write_nested(root):
    """Edition A as some copies unpack it."""
    write_meta(root / "training_and_testing")
    old = root / "training_and_testing"
    for part in ("training", "testing"):
        (root / part).mkdir()
        (old / part).rename(root / part / part)
    old.rmdir()


def _picture(number, view, phase):
    return scene(*SIZE, 100 * number + 10 * (view == "4CH") + (phase == "ES"))


def _image(number, view, phase):
    """Rows by columns; two columns of the square picture become one."""
    pixels = _picture(number, view, phase)
    return ((pixels[:, 0::2] + pixels[:, 1::2]) / 2).astype(np.uint8)


def _labels(phase):
    labels = np.zeros(SIZE, np.uint8)
    for value, (x0, y0, x1, y1) in ((2, WALL), (1, CAVITY[phase]), (3, ATRIUM)):
        labels[y0:y1, x0:x1] = value
    return labels[:, ::2]


def _cfg(path, info):
    path.write_text("".join(f"{key}: {value}\n" for key, value in info.items()))


def _nifti(path, data, *, flipped=False):
    sign = -1 if flipped else 1
    image = nib.Nifti1Image(data, np.diag([sign * 0.308, sign * 0.154, 1.0, 1.0]))
    nib.save(image, path)


def _mhd(path, data):
    image = SimpleITK.GetImageFromArray(data.astype(np.uint8))
    image.SetSpacing((0.308, 0.154, 1.0))
    SimpleITK.WriteImage(image, str(path))


def _facts(number, view, phase):
    a2c, a4c = "A2C", "A4C"
    return {
        "present": [a2c if view == "2CH" else a4c],
        "panel": ["end-diastole" if phase == "ED" else "end-systole"],
        "never": [a4c if view == "2CH" else a2c],
        "never_single": ["end-diastole", "end-systole"],
        "shows": _picture(number, view, phase),
    }


def _function(ef):
    """What is true of the patient; one of the pictures must say it."""
    if ef is None:
        return {"open": [*BANDS]}
    return {"present": [_band(ef)], "never": [band for band in BANDS if band != _band(ef)]}


def _band(ef):
    limits = (("LVEF >= 55", 55), ("LVEF 40-54", 40), ("LVEF 30-39", 30), ("LVEF < 30", 0))
    return next(name for name, low in limits if ef >= low)


REGIONS = {
    phase: {"LV": [cavity], "MYO": [WALL], "LA": [ATRIUM]} for phase, cavity in CAVITY.items()
}


def _nifti_cases():
    for number, (name, row) in enumerate(NIFTI.items()):
        ef, split = row[3], row[6]
        for view, quality in zip(("2CH", "4CH"), row[2], strict=True):
            for phase in ("ED", "ES"):
                fact = _facts(number, view, phase)
                fact |= {"patient": name, "split": split or "none"}
                if quality == "Poor":
                    fact["no_grounding"] = True
                else:
                    fact["regions"] = REGIONS[phase]
                yield f"CAMUS_public/database_nifti/{name}/{name}_{view}_{phase}.nii.gz", fact
        yield _frames(f"CAMUS_public/database_nifti/{name}/{name}", "nii.gz"), _function(ef)


def _meta_cases(part):
    for number, (place, (_, ef, _, _)) in enumerate(META.items()):
        split, name = place.split("/")
        for view in ("2CH", "4CH"):
            for phase in ("ED", "ES"):
                fact = _facts(10 + number, view, phase)
                fact |= {"patient": place, "split": split}
                if ef is not None:
                    fact["regions"] = REGIONS[phase]
                yield f"{part[split]}/{name}/{name}_{view}_{phase}.mhd", fact
        yield _frames(f"{part[split]}/{name}/{name}", "mhd"), _function(ef)


def _frames(stem, suffix):
    """All four frames of a patient."""
    return "|".join(f"{stem}_{v}_{p}.{suffix}" for v in ("2CH", "4CH") for p in ("ED", "ES"))


PAIRS_ONLY = ["reduced ejection fraction", "preserved ejection fraction", *BANDS]
EXPECTED = {
    "cases": dict(_nifti_cases()),
    "never": [
        f"CAMUS_public/database_nifti/{name}/{name}_{view}_half_sequence.nii.gz"
        for name in NIFTI
        for view in ("2CH", "4CH")
    ],
    "pairs_only": PAIRS_ONLY,
}
EXPECTED_META = {
    "cases": dict(_meta_cases({"training": "training", "testing": "testing"})),
    "never": ["training/patient001/patient001_4CH_sequence.mhd"],
    "reported": ["training/patient001"],
    "pairs_only": PAIRS_ONLY,
}
EXPECTED_NESTED = {
    "cases": dict(_meta_cases({"training": "training/training", "testing": "testing/testing"})),
    "never": ["training/training/patient001/patient001_4CH_sequence.mhd"],
    "pairs_only": PAIRS_ONLY,
}
VARIANTS = {"mhd": (write_meta, EXPECTED_META), "mhd_nested": (write_nested, EXPECTED_NESTED)}
