"""VinDr-CXR of PhysioNet as its evidence card describes it: three readers, or a consensus."""

import csv
import hashlib

import numpy as np
from independent.dicoms import write_dicom
from independent.paint import scene

HEIGHT, WIDTH = 96, 80
LOCAL = [
    "Aortic enlargement",
    "Atelectasis",
    "Calcification",
    "Cardiomegaly",
    "Clavicle fracture",
    "Consolidation",
    "Edema",
    "Emphysema",
    "Enlarged PA",
    "ILD",
    "Infiltration",
    "Lung Opacity",
    "Lung cavity",
    "Lung cyst",
    "Mediastinal shift",
    "Nodule/Mass",
    "Pleural effusion",
    "Pleural thickening",
    "Pneumothorax",
    "Pulmonary fibrosis",
    "Rib fracture",
    "Other lesion",
]
GLOBAL = ["COPD", "Lung tumor", "Pneumonia", "Tuberculosis"]
BASE = "vindr-cxr/1.0.0"


def _id(word):
    return hashlib.md5(word.encode(), usedforsecurity=False).hexdigest()


# image: label -> readers who mark it
TRAIN = {
    "agreed": {"Cardiomegaly": "R8 R9", "Nodule/Mass": "R10", "Tuberculosis": "R8 R9 R10"},
    "apart": {"Consolidation": "R8 R9", "Other lesion": "R8 R9 R10", "Pneumonia": "R9"},
    "twice": {"Pleural effusion": "R8"},
    "clean": {"No finding": "R8 R9 R10"},
}
BOXES = [
    ("agreed", "Cardiomegaly", "R8", (20, 50, 60, 80)),
    ("agreed", "Cardiomegaly", "R9", (22, 52, 62, 82)),
    ("agreed", "Nodule/Mass", "R10", (5, 5, 20, 20)),
    ("apart", "Consolidation", "R8", (5, 10, 25, 40)),
    ("apart", "Consolidation", "R9", (50, 60, 75, 90)),
    ("apart", "Other lesion", "R8", (30, 30, 40, 40)),
    ("apart", "Other lesion", "R9", (30, 30, 40, 40)),
    ("apart", "Other lesion", "R10", (30, 30, 40, 40)),
    ("twice", "Pleural effusion", "R8", (5, 60, 30, 80)),
    ("twice", "Pleural effusion", "R8", (7, 62, 31, 82)),
    *(("clean", "No finding", reader, None) for reader in ("R8", "R9", "R10")),
]
TEST = {"boxed": ["Pneumothorax", "Lung tumor"], "rest": ["Other disease"], "free": ["No finding"]}
TEST_BOXES = [
    ("boxed", "Pneumothorax", (48, 6, 72, 38)),
    ("rest", "No finding", None),
    ("free", "No finding", None),
]
ORPHAN = "orphan"


def write(root):
    _tables(root / BASE / "annotations")
    _images(root / BASE)


def write_flat(root):
    """The tables beside the images, as one note has it."""
    _tables(root / BASE)
    _images(root / BASE)


def _tables(folder):
    folder.mkdir(parents=True)
    readers = ("R8", "R9", "R10")
    names = [*LOCAL, *GLOBAL, "Other diseases", "No finding"]
    _csv(
        folder / "image_labels_train.csv",
        ["image_id", "rad_id", *names],
        [
            [_id(word), reader, *(int(reader in marks.get(n, "").split()) for n in names)]
            for word, marks in [*TRAIN.items(), ("not in this copy", {"Edema": "R8 R9"})]
            for reader in readers
        ],
    )
    head = ["class_name", "x_min", "y_min", "x_max", "y_max"]
    _csv(
        folder / "annotations_train.csv",
        ["image_id", "rad_id", *head],
        [[_id(w), r, n, *(map(float, b) if b else [""] * 4)] for w, n, r, b in BOXES],
    )
    names = [*LOCAL, *GLOBAL, "Other disease", "No finding"]
    _csv(
        folder / "image_labels_test.csv",
        ["image_id", *names],
        [[_id(word), *(int(name in marks) for name in names)] for word, marks in TEST.items()],
    )
    _csv(
        folder / "annotations_test.csv",
        ["image_id", *head],
        [[_id(w), n, *(map(float, b) if b else [""] * 4)] for w, n, b in TEST_BOXES],
    )


def _images(base):
    for split, words in (("train", [*TRAIN, ORPHAN]), ("test", TEST)):
        for word in words:
            pixels = (_picture(word) * 15).astype(np.uint16)
            inverse = word in ("agreed", "boxed")
            write_dicom(
                base / split / f"{_id(word)}.dicom",
                4095 - pixels if inverse else pixels,
                sop=f"1.2.826.0.1.3680043.{int(_id(word)[:8], 16)}",
                BitsStored=12,
                PhotometricInterpretation="MONOCHROME1" if inverse else "MONOCHROME2",
                PixelSpacing=[0.14, 0.14],
                PatientSex="O",
            )


def _picture(word):
    return scene(HEIGHT, WIDTH, int(_id(word)[:6], 16))


def _csv(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(rows)


LOOKALIKES = {
    "Lung Opacity",
    "Infiltration",
    "Consolidation",
    "ILD",
    "Pulmonary fibrosis",
    "Nodule/Mass",
}
"""One of them beside another is neither true nor false."""


def _concept(name):
    return {"Pleural effusion": "Effusion"}.get(name, name)


def _fact(word, present=(), unsure=(), regions=None, split="train"):
    result = {*present, *unsure}
    skip = {"Other lesion"} | (LOOKALIKES if LOOKALIKES & set(present) else set())
    return {
        "present": list(present),
        "open": [_concept(name) for name in unsure],
        "absent": [_concept(name) for name in [*LOCAL, *GLOBAL] if name not in result | skip],
        "regions": regions or {},
        "patient": word,
        "split": split,
        "shows": _picture(word),
    }


def _cases():
    merged = {"Cardiomegaly": [(21, 51, 61, 81)]}
    facts = {
        "agreed": _fact("agreed", ["Cardiomegaly", "Tuberculosis"], ["Nodule/Mass"], merged),
        "apart": _fact("apart", ["Consolidation"], ["Pneumonia"]),
        "twice": _fact("twice", [], ["Pleural effusion"]),
        "clean": _fact("clean"),
        "boxed": _fact(
            "boxed",
            ["Pneumothorax", "Lung tumor"],
            regions={"Pneumothorax": [(48, 6, 72, 38)]},
            split="test",
        ),
        "rest": _fact("rest", split="test"),
        "free": _fact("free", split="test"),
    }
    for fact in facts.values():
        fact["tolerance"] = 2
    return {f"{BASE}/{f['split']}/{_id(word)}.dicom": f for word, f in facts.items()}


EXPECTED = {
    "cases": _cases(),
    "constants": ["PA"],
    # Without a row nobody has read the film: nothing may be said to be absent.
    "unlabelled": [f"{BASE}/train/{_id(ORPHAN)}.dicom"],
    "never_asked": ["Other lesion", "Other disease", "No Finding"],
}
VARIANTS = {"flat": (write_flat, EXPECTED)}
