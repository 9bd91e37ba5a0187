"""SIIM-ACR Pneumothorax as its evidence card describes it: JPEG films and relative run lengths."""

import numpy as np
from independent.dicoms import write_dicom
from independent.paint import boxed, scene
from PIL import Image

SIZE = 1024
FIRST, SECOND, BOTH = (640, 120, 880, 420), (700, 300, 940, 560), (640, 120, 940, 560)
SMALL = (130, 200, 260, 520)

# last digits of the UID: boxes of the rows (none: read as free), tags
FILMS = {
    "100.1": ([], {"ViewPosition": "PA"}),
    "200.2": ([FIRST, SECOND], {"ViewPosition": "AP"}),
    "300.3": ([SMALL], {"SeriesDescription": "view: PA"}),
}
UNREAD = "400.4"
STEM = "1.2.276.0.7230010.3.1.4.8323329.6904.1517875"


def write(root):
    base = root / "siim"
    for number, (tail, (_, tags)) in enumerate(FILMS.items()):
        _film(base / "dicom-images-train", tail, number, tags)
    _film(base / "dicom-images-test", UNREAD, 9, {"ViewPosition": "PA"})
    lines = ["ImageId, EncodedPixels"]
    for number, (tail, (boxes, _)) in enumerate(FILMS.items()):
        codes = [_runs(boxed((SIZE, SIZE), box)) for box in boxes] or ["-1"]
        lines += [f"{STEM}{tail},{' ' * (number % 2)}{code}" for code in codes]
    (base / "train-rle.csv").write_text("\n".join(lines) + "\n")


def write_png(root):
    """The edition with pictures and masks, whose names tell the class."""
    for number, name in ((0, "0_test_1_"), (1, "0_train_0_"), (2, "10_train_1_")):
        for folder in ("png_images", "png_masks"):
            (root / folder).mkdir(exist_ok=True)
        picture = scene(SIZE, SIZE, 50 + number).astype(np.uint8)
        Image.fromarray(picture).save(root / "png_images" / f"{name}.png", compress_level=1)
        box = SMALL if "_1_" in name else (0, 0, 0, 0)
        mask = boxed((SIZE, SIZE), box).astype(np.uint8) * 255
        Image.fromarray(mask).save(root / "png_masks" / f"{name}.png")
    head = "new_filename,ImageId,has_pneumo\n"
    rows = f"0_train_0_.png,{STEM}1.1,0\n10_train_1_.png,{STEM}2.2,1\n"
    (root / "stage_1_train_images.csv").write_text(head + rows)
    (root / "stage_1_test_images.csv").write_text(head + f"0_test_1_.png,{STEM}3.3,1\n")


def _path(folder, tail):
    study, series = (STEM.replace("3.1.4", part) for part in ("3.1.2", "3.1.3"))
    return f"{folder}/{study}{tail}5/{series}{tail}4/{STEM}{tail}.dcm"


def _film(folder, tail, number, tags):
    write_dicom(
        folder.parent / _path(folder.name, tail),
        scene(SIZE, SIZE, number).astype(np.uint8),
        kind="SC",
        sop=f"{STEM}{tail}",
        jpeg=True,
        Modality="CR",
        BodyPartExamined="CHEST",
        PatientID=f"uuid-{tail}",
        PatientSex="M",
        PatientAge="62",
        PixelSpacing=[0.168, 0.168],
        **tags,
    )


def _runs(mask):
    """Offsets from the end of the run before, down the columns, from zero."""
    flat = np.concatenate([[0], mask.T.ravel(), [0]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(flat))
    last, words = 0, []
    for start, stop in edges.reshape(-1, 2).tolist():
        words += [str(start - last), str(stop - start)]
        last = stop
    return " ".join(words)


def _fact(number, boxes, **more):
    fact = {"shows": scene(SIZE, SIZE, number), "never": ["No Finding"], **more}
    if boxes:
        return fact | {"present": ["Pneumothorax"], "regions": {"Pneumothorax": boxes}}
    return fact | {"absent": ["Pneumothorax"], "regions": {}}


def _film_path(tail):
    return f"siim/{_path('dicom-images-train', tail)}"


EXPECTED = {
    "cases": {
        _film_path("100.1"): _fact(0, [], patient="a"),
        _film_path("200.2"): _fact(1, [BOTH], patient="b"),
        _film_path("300.3"): _fact(2, [SMALL], patient="c"),
        **{
            f"{_film_path(tail)}|": {"present": [view], "never": [other]}
            for tail, view, other in (
                ("100.1", "PA", "AP"),
                ("200.2", "AP", "PA"),
                ("300.3", "PA", "AP"),
            )
        },
    },
    "unlabelled": [f"siim/{_path('dicom-images-test', UNREAD)}"],
    "never_asked": ["No Finding"],
}
EXPECTED_PNG = {
    "cases": {
        "png_images/0_test_1_.png": _fact(50, [SMALL]),
        "png_images/0_train_0_.png": _fact(51, []),
        "png_images/10_train_1_.png": _fact(52, [SMALL]),
    },
    "never_asked": ["No Finding"],
}
VARIANTS = {"png": (write_png, EXPECTED_PNG)}
