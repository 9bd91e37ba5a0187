"""CBIS-DDSM as its evidence card describes it: films, crops and masks that only look alike."""

import csv
import hashlib
import io

import numpy as np
from independent.dicoms import write_dicom
from independent.paint import boxed, scene

HEIGHT, WIDTH = 120, 90
ONE, TWO, THREE = (30, 40, 54, 62), (12, 80, 36, 104), (44, 20, 70, 50)
_MASS_HEAD = (
    "patient_id,breast_density,left or right breast,image view,abnormality id,"
    "abnormality type,mass shape,mass margins,assessment,pathology,subtlety,image file path,"
    "cropped image file path,ROI mask file path"
)
MASS_HEAD = _MASS_HEAD.split(",")
_CALC_HEAD = (
    "patient_id,breast density,left or right breast,image view,abnormality id,"
    "abnormality type,calc type,calc distribution,assessment,pathology,subtlety,"
    "image file path,cropped image file path,ROI mask file path"
)
CALC_HEAD = _CALC_HEAD.split(",")

# film: density, abnormalities: (type, distribution or margins, assessment, pathology, box, form)
FILMS = {
    "Mass-Training_P_00001_LEFT_CC": (
        3,
        [("IRREGULAR", "SPICULATED", 4, "MALIGNANT", ONE, "crop mask")],
    ),
    "Mass-Training_P_00001_LEFT_MLO": (
        3,
        [
            ("OVAL", "CIRCUMSCRIBED", 3, "BENIGN", ONE, "mask crop"),
            ("", "", 3, "BENIGN", TWO, "crop mask"),
        ],
    ),
    "Mass-Training_P_00002_LEFT_CC": (
        3,
        [("OVAL-LYMPH_NODE", "CIRCUMSCRIBED", 1, "MALIGNANT", ONE, "crop mask")],
    ),
    "Mass-Training_P_00003_LEFT_CC": (
        3,
        [
            ("OVAL", "CIRCUMSCRIBED", 3, "BENIGN", ONE, "mask crop"),
            ("ASYMMETRIC_BREAST_TISSUE", "", 3, "BENIGN", TWO, "crop mask"),
        ],
    ),
    "Mass-Training_P_00059_LEFT_CC": (
        1,
        [("ROUND", "OBSCURED", 5, "MALIGNANT", THREE, "apart")],
    ),
    "Mass-Training_P_00100_RIGHT_CC": (
        2,
        [
            ("OVAL", "CIRCUMSCRIBED", 2, "BENIGN_WITHOUT_CALLBACK", ONE, "crop mask"),
            ("IRREGULAR", "ILL_DEFINED", 5, "MALIGNANT", TWO, "mask crop"),
        ],
    ),
    "Mass-Test_P_00016_LEFT_CC": (
        2,
        [("LOBULATED", "MICROLOBULATED", 4, "BENIGN", THREE, "in crops")],
    ),
    "Calc-Training_P_00016_RIGHT_CC": (
        2,
        [("PLEOMORPHIC", "CLUSTERED", 4, "MALIGNANT", TWO, "crop mask")],
    ),
    "Calc-Test_P_00150_RIGHT_MLO": (
        0,
        [("LUCENT_CENTER", "", 0, "BENIGN_WITHOUT_CALLBACK", ONE, "crop mask")],
    ),
    "Calc-Training_P_00200_LEFT_CC": (
        4,
        [("PUNCTATE-AMORPHOUS", "REGIONAL", 1, "BENIGN", TWO, "wrong size")],
    ),
}


def write(root):
    tables = {}
    for number, (film, (density, marks)) in enumerate(FILMS.items()):
        kind, patient, side, view = _parts(film)
        _dicom(
            root / f"CBIS-DDSM/{film}/08-29-2017-DDSM-NA-{10000 + number}",
            "1.000000-full mammogram images-50917/1-1.dcm",
            film,
            (_picture(number) * 250).astype(np.uint16),
        )
        for index, mark in enumerate(marks, 1):
            _abnormality(root, f"{film}_{index}", number, mark)
            paths = [f"{film}/{_uid(film)}/{_uid(film, 's')}/000000.dcm"]
            study = f"{film}_{index}/{_uid(film, index)}/{_uid(film, index, 's')}"
            paths += [f"{study}/000000.dcm", f"{study}/000001.dcm\n"]
            if kind.startswith("Calc"):
                paths[1:] = [paths[2], paths[1]]
            row = [patient, density, side, view, index, _type(kind), *mark[:4], 3, *paths]
            tables.setdefault(kind, []).append(row)
    for kind, name in (
        ("Mass-Training", "mass_case_description_train_set"),
        ("Mass-Test", "mass_case_description_test_set"),
        ("Calc-Training", "calc_case_description_train_set"),
        ("Calc-Test", "calc_case_description_test_set"),
    ):
        text = io.StringIO(newline="")
        table = csv.writer(text)
        table.writerow(MASS_HEAD if kind.startswith("Mass") else CALC_HEAD)
        table.writerows(tables[kind])
        (root / f"{name}.csv").write_text(text.getvalue(), newline="")


def _parts(film):
    kind, _, number, side, view = film.split("_")
    return kind, f"P_{number}", side, view


def _type(kind):
    return "mass" if kind.startswith("Mass") else "calcification"


def _picture(number):
    return np.floor(scene(HEIGHT, WIDTH, number))


def _uid(*words):
    text = "/".join(map(str, words))
    digits = int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:12], 16)
    return f"1.3.6.1.4.1.9590.100.1.2.{digits}"


def _abnormality(root, folder, number, mark):
    box, form = mark[4:]
    size = (HEIGHT, WIDTH) if form != "wrong size" else (HEIGHT - 7, WIDTH)
    mask = boxed(size, box).astype(np.uint8) * 255
    x0, y0, x1, y1 = box
    crop = (_picture(number)[y0:y1, x0:x1] * 250).astype(np.uint16)
    base = root / "CBIS-DDSM" / folder
    study, other = f"08-29-2017-DDSM-NA-{85410 + number}", f"09-06-2017-DDSM-{20000 + number}"
    masks, crops = "1.000000-ROI mask images-54168", "1.000000-cropped images-31415"
    places = {
        "crop mask": (f"{study}/{masks}/1-2.dcm", f"{study}/{masks}/1-1.dcm"),
        "wrong size": (f"{study}/{masks}/1-2.dcm", f"{study}/{masks}/1-1.dcm"),
        "mask crop": (f"{study}/{masks}/1-1.dcm", f"{study}/{masks}/1-2.dcm"),
        "apart": (f"{study}/{masks}/1-1.dcm", f"{other}/{crops}/1-1.dcm"),
        "in crops": (f"{study}/{crops}/1-2.dcm", f"{study}/{crops}/1-1.dcm"),
    }[form]
    for place, pixels in zip(places, (mask, crop), strict=True):
        _dicom(base, place, folder, pixels)


def _dicom(base, place, folder, pixels):
    series = place.rsplit("/", 1)[0]
    words = ("full mammogram images", "ROI mask images", "cropped images")
    write_dicom(
        base / place,
        pixels,
        kind="SC",
        sop=_uid(folder, place),
        Modality="MG",
        PatientID=folder,
        StudyInstanceUID=_uid(base.name, place.split("/")[0]),
        SeriesInstanceUID=_uid(base, series),
        SeriesDescription=next(word for word in words if word in place),
        PatientOrientation="CC",
    )


PATHOLOGY = ("MALIGNANT", "BENIGN")
DENSITIES = ("density A", "density B", "density C", "density D")
GRADES = tuple(f"BI-RADS {grade}" for grade in range(7))


def _file(film):
    number = list(FILMS).index(film)
    study = f"08-29-2017-DDSM-NA-{10000 + number}"
    return f"CBIS-DDSM/{film}/{study}/1.000000-full mammogram images-50917/1-1.dcm"


def _fact(film, present, never, regions, **more):
    kind, patient, _, view = _parts(film)
    density = FILMS[film][0]
    own = {*present, view}
    if density:
        own.add(DENSITIES[density - 1])
    others = {"CC", "MLO", *DENSITIES} - own
    fact = {
        "present": sorted(own),
        "never": sorted({*never, *others}),
        # No film is normal, and what the other table lists is not said here.
        "open": ["breast calcification" if kind.startswith("Mass") else "breast mass"],
        "patient": patient,
        "shows": _picture(list(FILMS).index(film)),
        **more,
    }
    if regions:
        fact["regions"] = regions
    return _file(film), fact


EXPECTED = {
    "cases": dict(
        [
            # Two views of one breast that differ: neither is right.
            _fact(
                "Mass-Training_P_00001_LEFT_CC",
                ["breast mass", "IRREGULAR", "SPICULATED"],
                [*PATHOLOGY, *GRADES],
                {"breast mass": [ONE]},
            ),
            # Of the type mass, but nobody described the shape of the second one.
            _fact(
                "Mass-Training_P_00001_LEFT_MLO",
                [],
                [*PATHOLOGY, *GRADES, "breast mass"],
                None,
                open=["breast mass", "breast calcification"],
            ),
            # A node is no mass and has no shape of one; negative contradicts its outline.
            _fact(
                "Mass-Training_P_00002_LEFT_CC",
                ["MALIGNANT"],
                ["BENIGN", *GRADES, "breast mass", "OVAL", "CIRCUMSCRIBED"],
                None,
                open=["breast mass", "breast calcification"],
            ),
            _fact(
                "Mass-Training_P_00003_LEFT_CC",
                ["BENIGN", "BI-RADS 3"],
                ["MALIGNANT", "breast mass"],
                None,
                open=["breast mass", "breast calcification"],
            ),
            _fact(
                "Mass-Training_P_00059_LEFT_CC",
                ["breast mass", "MALIGNANT", "BI-RADS 5", "ROUND", "OBSCURED"],
                ["BENIGN"],
                {"breast mass": [THREE]},
            ),
            # Mixed: the worst of both, or nothing.
            _fact(
                "Mass-Training_P_00100_RIGHT_CC",
                ["breast mass"],
                ["BENIGN", "BENIGN_WITHOUT_CALLBACK", "BI-RADS 2"],
                {"breast mass": [ONE, TWO]},
            ),
            _fact(
                "Mass-Test_P_00016_LEFT_CC",
                ["breast mass", "BENIGN", "BI-RADS 4", "LOBULATED", "MICROLOBULATED"],
                ["MALIGNANT"],
                {"breast mass": [THREE]},
            ),
            _fact(
                "Calc-Training_P_00016_RIGHT_CC",
                ["breast calcification", "MALIGNANT", "BI-RADS 4"],
                ["BENIGN"],
                {"breast calcification": [TWO]},
            ),
            _fact(
                "Calc-Test_P_00150_RIGHT_MLO",
                ["breast calcification", "BENIGN", "calcification type LUCENT_CENTERED"],
                ["MALIGNANT", "BENIGN_WITHOUT_CALLBACK", *GRADES],
                {"breast calcification": [ONE]},
            ),
        ]
    ),
    # A mask that is 7 rows short fits nowhere: no box, or none at all.
    "no_boxes": [_file("Calc-Training_P_00200_LEFT_CC")],
    "never": [
        f"CBIS-DDSM/Mass-Training_P_00001_LEFT_CC_1/08-29-2017-DDSM-NA-85410/"
        f"1.000000-ROI mask images-54168/1-{part}.dcm"
        for part in (1, 2)
    ],
}
