"""RSNA intracranial hemorrhage as its evidence card describes it: slices without a series."""

import hashlib

import numpy as np
from independent.dicoms import write_dicom
from independent.paint import scene

SIZE = 64
BASE = "rsna-intracranial-hemorrhage-detection"
KINDS = ("epidural", "intraparenchymal", "intraventricular", "subarachnoid", "subdural")


def _id(word):
    return "ID_" + hashlib.md5(word.encode(), usedforsecurity=False).hexdigest()[:9]


def _exam(name, *slices):
    return [(f"{name}-{index}", marks) for index, marks in enumerate(slices)]


# exam -> its slices from the feet upwards, with the subtypes on each
EXAMS = {
    "bleed": _exam(
        "bleed", "", "", "", "subdural", "subdural", "subdural", "subdural subarachnoid", "", ""
    ),
    "free": _exam("free", *[""] * 9),
    "wrapped": _exam("wrapped", "epidural"),
    "padded": _exam("padded", "intraparenchymal"),
    "bone": _exam("bone", "subarachnoid"),
    "odd": _exam("odd", "subdural"),
}
TRUNCATED = "ID_6431af929"


def write(root):
    folder = root / BASE / "stage_2_train"
    rows = []
    for number, (exam, slices) in enumerate(EXAMS.items()):
        for index, (word, marks) in enumerate(slices):
            _slice(folder, _id(word), exam, index, _hounsfield(exam, number, index))
            rows += _rows(_id(word), marks.split(), any_=None if exam != "odd" else 0)
    rows += _rows(_id("free-4"), [])  # all six rows twice, saying the same
    _slice(folder, TRUNCATED, "cut", 0, _hounsfield("cut", 7, 0))
    cut = folder / f"{TRUNCATED}.dcm"
    cut.write_bytes(cut.read_bytes()[:-2000])
    rows += _rows(TRUNCATED, ["epidural"])
    _slice(root / BASE / "stage_2_test", _id("secret"), "secret", 0, _hounsfield("x", 8, 0))
    (root / BASE / "stage_2_train.csv").write_text("ID,Label\n" + "".join(rows))
    (root / BASE / "stage_2_sample_submission.csv").write_text("ID,Label\n")


def write_contradiction(root):
    write(root)
    with (root / BASE / "stage_2_train.csv").open("a") as file:
        file.write(f"{_id('free-4')}_epidural,1\n")


def _rows(name, marks, any_=None):
    pairs = [(kind, int(kind in marks)) for kind in KINDS]
    pairs.append(("any", int(bool(marks)) if any_ is None else any_))
    return [f"{name}_{kind},{value}\n" for kind, value in pairs]


def _picture(number, index):
    return scene(SIZE, SIZE, 20 * number + index)


def _hounsfield(exam, number, index):
    """The brain window shows 0 to 80 HU."""
    values = np.round(_picture(number, index) / 255 * 80)
    if exam == "bone":  # a slice through the vertex: hardly any brain
        values[:] = -1000
        values[10:50, 20:60] = 900
        values[20:28, 30:36] = 30
    if exam == "wrapped":
        values[-6:] = -900
    return values


def _slice(folder, name, exam, index, values):
    tags = {
        "Modality": "CT",
        "PatientID": _id(f"patient {exam}"),
        "StudyInstanceUID": _id(f"study {exam}"),
        "SeriesInstanceUID": _id(f"series {exam}"),
        "StudyID": "",
        "ImagePositionPatient": [-125.0, -100.0 + index, 20.0 + 5.0 * index],
        "ImageOrientationPatient": [1, 0, 0, 0, 0.96126, -0.27564],
        "PixelSpacing": [0.49, 0.49],
        "WindowCenter": [36, 600],
        "WindowWidth": [80, 2800],
        "RescaleSlope": 1,
        "RescaleIntercept": -1024,
    }
    pixels = (values + 1024).astype(np.int16)
    if exam == "padded":
        pixels[:, -5:] = -2000
    if exam == "wrapped":
        tags |= {"BitsStored": 12, "RescaleIntercept": 0}
        pixels = np.where(values < 0, values + 4096, values).astype(np.uint16)
    write_dicom(folder / f"{name}.dcm", pixels, kind="CT", sop=name, **tags)


def _file(word):
    return f"{BASE}/stage_2_train/{_id(word)}.dcm"


def _fact(word, marks, **more):
    exam, index = word.split("-")
    pixels = _picture(list(EXAMS).index(exam), int(index))
    if exam == "padded":
        pixels[:, -5:] = 0
    if exam == "wrapped":
        pixels[-6:] = 0
    return {
        "present": [*marks, "any"] if marks else [],
        "absent": [kind for kind in KINDS if kind not in marks],
        "never": ["notumor", "No Finding"],
        "patient": exam,
        "shows": pixels,
        "greys": 4,
        **more,
    }


EXPECTED = {
    "cases": {
        _file("bleed-4"): _fact("bleed-4", ["subdural"]),
        _file("wrapped-0"): _fact("wrapped-0", ["epidural"]),
        _file("padded-0"): _fact("padded-0", ["intraparenchymal"]),
        "|".join(_file(f"free-{index}") for index in (3, 4, 5)): {
            "absent": list(KINDS),
            "never": ["any"],
            "patient": "free",
        },
    },
    "constants": ["axial"],
    "never": [
        *(_file(f"bleed-{index}") for index in range(9) if index != 4),
        *(_file(f"free-{index}") for index in (0, 1, 2, 6, 7, 8)),
        _file("odd-0"),
        f"{BASE}/stage_2_train/{TRUNCATED}.dcm",
        f"{BASE}/stage_2_test/{_id('secret')}.dcm",
    ],
    "reported": [
        _file("odd-0"),
        f"{BASE}/stage_2_train/{TRUNCATED}.dcm",
        f"{BASE}/stage_2_test/{_id('secret')}.dcm",
    ],
    "no_picture": [_file("bone-0")],
}
EXPECTED_CONTRADICTION = {"refused_or": {"no_picture": [_file("free-4")]}, "cases": {}}
VARIANTS = {"contradiction": (write_contradiction, EXPECTED_CONTRADICTION)}
