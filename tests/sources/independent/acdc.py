"""ACDC as its evidence card describes it: cine MRI of five groups, labels 1 RV, 2 MYO, 3 LV."""

import nibabel as nib
import numpy as np
from independent.paint import scene

HEIGHT, WIDTH, SLICES = 60, 72, 9
RIGHT, WALL = (14, 20, 26, 40), (30, 18, 54, 42)
CAVITY = {"ED": (36, 24, 48, 36), "ES": (38, 26, 47, 35)}
"""Boxes in the displayed picture of the middle slice."""

# folder, Info.cfg, whether the affine's first two signs are negative
PATIENTS = {
    "training/patient001": ({"ED": 1, "ES": 12, "Group": "DCM"}, True),
    "training/patient021": ({"ED": 11, "ES": 4, "Group": "HCM"}, False),
    "training/patient041": ({"ED": 1, "ES": 9, "Group": "MINF"}, True),
    "training/patient061": ({"ED": 2, "ES": 10, "Group": "NOR"}, True),
    "testing/patient101": ({"ED": 1, "ES": 13, "Group": "RV"}, True),
    "testing/patient102": ({"ED": 1, "ES": 14}, True),
}


def write(root):
    for number, (folder, (info, negative)) in enumerate(PATIENTS.items()):
        place = root / "database" / folder
        place.mkdir(parents=True)
        lines = {**info, "Height": 184.0, "NbFrame": 30, "Weight": 95.0}
        place.joinpath("Info.cfg").write_text("".join(f"{k}: {v}\n" for k, v in lines.items()))
        place.joinpath("MANDATORY_CITATION.md").write_text("cite\n")
        sign = -1 if negative else 1
        affine = np.diag([sign * 1.5, sign * 1.5, 10.0, 1.0])
        name = place.name
        for phase in ("ED", "ES"):
            frame = info[phase]
            stem = f"{name}_frame{frame:02d}"
            _save(place / f"{stem}.nii.gz", _volume(number, phase), affine)
            if "Group" in info:
                _save(place / f"{stem}_gt.nii.gz", _labels(phase), affine)
        cine = np.stack([_volume(number, phase) for phase in ("ED", "ES")], axis=-1)
        _save(place / f"{name}_4d.nii.gz", cine, affine)
    (root / "database" / "MANDATORY_CITATION.md").write_text("cite\n")


def _picture(number, phase, index):
    """The picture of one slice: rows and columns as a reader sees them."""
    return scene(HEIGHT, WIDTH, 1000 * number + 100 * (phase == "ES") + index)


def _volume(number, phase):
    slices = [_picture(number, phase, index).T for index in range(SLICES)]
    return np.stack(slices, axis=-1).astype(np.int16)


def _labels(phase):
    """All three labels on slices 2-4 at ED and 3-6 at ES; the wall is largest on slice 7."""
    labels = np.zeros((HEIGHT, WIDTH, SLICES), np.uint8)
    full = range(2, 5) if phase == "ED" else range(3, 7)
    for index in (1, *full):
        _paint(labels[..., index], WALL, 2)
        if index in full:
            _paint(labels[..., index], CAVITY[phase], 3)
            _paint(labels[..., index], RIGHT, 1)
    labels[5:55, 5:65, 7] = 2
    return labels.transpose(1, 0, 2)


def _paint(plane, box, value):
    x0, y0, x1, y1 = box
    plane[y0:y1, x0:x1] = value


def _save(path, data, affine):
    nib.save(nib.Nifti1Image(data, affine), path)


GROUPS = ("DCM", "HCM", "MINF", "NOR")
# An abnormal right ventricle is a finding that other groups share: it is not an answer.


def _case(number, folder, phase):
    info, _ = PATIENTS[folder]
    group = info["Group"]
    name = folder.rsplit("/", 1)[-1]
    fact = {
        "present": [group] if group in GROUPS else [],
        "regions": {"RV (structure)": [RIGHT], "MYO": [WALL], "LV": [CAVITY[phase]]},
        "shows": _picture(number, phase, 3),
        "shows_by_frame": [_picture(number, phase, index) for index in range(SLICES)],
        "panel": ["end-diastole" if phase == "ED" else "end-systole"],
        "never_single": ["end-diastole", "end-systole"],
        "never": [g for g in GROUPS if g != group] if group in GROUPS else [],
        "open": [] if group in GROUPS else [*GROUPS],
        "patient": folder,
        "split": folder.split("/")[0],
    }
    if phase == "ED":
        fact["frame"] = (3, 3)
    else:
        fact["companion"] = 3
    return f"database/{folder}/{name}_frame{info[phase]:02d}.nii.gz", fact


EXPECTED = {
    "cases": dict(
        _case(number, folder, phase)
        for number, folder in enumerate(PATIENTS)
        if "Group" in PATIENTS[folder][0]
        for phase in ("ED", "ES")
    ),
    "constants": ["cardiac short-axis view", "cine"],
    "never": [f"database/{folder}/{folder.rsplit('/', 1)[-1]}_4d.nii.gz" for folder in PATIENTS],
    # An older copy of the testing half: there is no truth about this heart.
    "undiagnosed": {"database/testing/patient102/patient102_frame01.nii.gz": GROUPS},
    # A group is stated by volumes of both phases: no single picture may be asked for it.
    "pairs_only": list(GROUPS),
}
