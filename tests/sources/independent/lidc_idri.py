"""LIDC-IDRI as its evidence card describes it: CT series, and outlines of four readers in XML."""

import numpy as np
from independent.dicoms import write_dicom
from independent.paint import scene
from independent.sheets import write_xls

SIZE, SLICES = 96, 12
CORE, SMALLER, LARGER = (40, 30, 56, 44), (44, 34, 52, 40), (38, 28, 58, 46)
UNSURE, LONELY = (70, 60, 82, 72), (20, 60, 34, 74)
ROOT = "1.3.6.1.4.1.14519.5.2.1.6279"
CHARACTERISTICS = ("subtlety", "internalStructure", "calcification", "sphericity", "margin")
CHARACTERISTICS = (*CHARACTERISTICS, "lobulation", "spiculation", "texture", "malignancy")
CLEAR = (5, 1, 6, 4, 5, 1, 1, 5, 5)


def _nodule(name, boxes, values=CLEAR):
    return ("nodule", name, boxes, values)


_BIG = [{5: SMALLER, 6: box, 7: SMALLER} for box in (CORE, CORE, LARGER, SMALLER)]
_SMALL = [("small", "s", {3: (60, 20)}), ("none", "n", {8: (30, 80)})]
# patient: what each reader marks
READINGS = {
    "LIDC-IDRI-0001": [
        [_nodule("Nodule 001", _BIG[0]), _nodule("u", {9: UNSURE}), *_SMALL],
        [_nodule("IL057_1", _BIG[1], (4, 1, 6, 4, 5, 1, 2, 5, 5)), _nodule("v", {9: UNSURE})],
        [_nodule("0", _BIG[2])],
        [_nodule("7", _BIG[3], (5, 1, 6, 4, 4, 2, 1, 5, 4))],
    ],
    "LIDC-IDRI-0002": [_SMALL, [], [("blank", "b", {4: (50, 50)})], []],
    "LIDC-IDRI-0003": [[_nodule("1", {5: LONELY, 6: LONELY})], [], [], []],
}


def write(root):
    base = root / "manifest-1600709154662"
    (base / "LIDC-IDRI").mkdir(parents=True)
    (base / "metadata.csv").write_text("Series UID,Collection\n")
    for number, (patient, readings) in enumerate(READINGS.items()):
        place = f"LIDC-IDRI/{patient}/01-01-2000-{30178 + number}/3000566.000000-0319{number}"
        _series(base / place, number, patient, "1-{:03d}.dcm")
        xml = root / "tcia-lidc-xml" / "157" / f"{158 + number}.xml"
        xml.parent.mkdir(parents=True, exist_ok=True)
        xml.write_text(_message(number, readings))
    film = base / "LIDC-IDRI/LIDC-IDRI-0001/01-01-2000-35511/3000923.000000-62357/1-1.dcm"
    _film(film)
    (root / "tcia-lidc-xml" / "157" / "300.xml").write_text(_film_message())
    head = [
        "TCIA Patient ID\n",
        "Diagnosis at the Patient Level\n0=Unknown\n1=benign",
        "Diagnosis Method\n0=Unknown",
    ]
    head += ["Primary tumor site", "Nodule 1 Diagnosis", "Nodule 1 Method"]
    rows = [["LIDC-IDRI-0001", 2.0, 2.0, "lung"], ["LIDC-IDRI-0002", 0.0, 0.0, ""]]
    rows.append(["LIDC-IDRI-0003", 1.0, 1.0, ""])
    write_xls(root / "tcia-diagnosis-data-2012-04-20.xls", {"Diagnosis Truth": [head, *rows]})


def write_classic(root):
    for number, (patient, readings) in enumerate(READINGS.items()):
        place = root / "LIDC-IDRI" / patient / _uid(number, "study") / _uid(number, "series")
        _series(place, number, patient, "{:06d}.dcm")
        (place / f"{69 + number:03d}.xml").write_text(_message(number, readings))


def _uid(number, kind, index=0):
    return f"{ROOT}.{('study', 'series', 'image').index(kind) + 1}.{number + 1}.{index + 1}"


def _picture(number, index):
    return scene(SIZE, SIZE, 40 * number + index)


def _series(folder, number, patient, name):
    """File names run from the head to the feet, and slices from the feet to the head."""
    slices = [(index, index, index) for index in range(SLICES)]
    if number == 1:
        slices.append((4, SLICES, SLICES))  # a second slice at a place that has one already
    for position, image, instance in slices:
        values = -1350 + _picture(number, image) / 255 * 1500
        pixels = np.round(values + 1024).astype(np.int16)
        pixels[:, -4:] = -2000
        write_dicom(
            folder / name.format(SLICES + 1 - image),
            pixels,
            kind="CT",
            sop=_uid(number, "image", image),
            Modality="CT",
            PatientID=patient,
            StudyInstanceUID=_uid(number, "study"),
            SeriesInstanceUID=_uid(number, "series"),
            InstanceNumber=instance + 1,
            ImagePositionPatient=[-160.0, -150.0, -200.0 + 2.5 * position],
            ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
            SliceThickness=2.5,
            PixelSpacing=[0.7, 0.7],
            RescaleSlope=1,
            RescaleIntercept=-1024,
        )


def _film(path):
    write_dicom(
        path,
        (_picture(9, 0) * 12).astype(np.uint16),
        kind="DX",
        sop=f"{ROOT}.9.9.9",
        Modality="DX",
        PatientID="LIDC-IDRI-0001",
        StudyInstanceUID=f"{ROOT}.9.9",
        SeriesInstanceUID=f"{ROOT}.9.8",
        BitsStored=12,
    )


def _film_message():
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<IdriReadMessage xmlns="http://www.nih.gov/idri">'
        f"<ResponseHeader><SeriesInstanceUID>{ROOT}.9.8</SeriesInstanceUID></ResponseHeader>"
        "<CXRreadingSession/></IdriReadMessage>"
    )


def _message(number, readings):
    sessions = "".join(
        "<readingSession><annotationVersion>3.12</annotationVersion>"
        f"<servicingRadiologistID>anon-{reader}</servicingRadiologistID>"
        + "".join(_mark(number, mark) for mark in marks)
        + "</readingSession>"
        for reader, marks in enumerate(readings)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<LidcReadMessage uid="1.2.3" '
        'xmlns="http://www.nih.gov"><ResponseHeader><Version>1.8.1</Version>'
        "<TaskDescription>Second unblinded read</TaskDescription>"
        f"<SeriesInstanceUid>{_uid(number, 'series')}</SeriesInstanceUid>"
        f"<StudyInstanceUID>{_uid(number, 'study')}</StudyInstanceUID></ResponseHeader>"
        f"{sessions}</LidcReadMessage>"
    )


def _mark(number, mark):
    kind, name, places, *values = mark
    if kind == "none":
        ((index, (x, y)),) = places.items()
        point = f"<locus><xCoord>{x}</xCoord><yCoord>{y}</yCoord></locus>"
        body = f"<nonNoduleID>{name}</nonNoduleID>{_where(number, index)}{point}"
        return f"<nonNodule>{body}</nonNodule>"
    text = ""
    if kind == "nodule":
        pairs = zip(CHARACTERISTICS, values[0], strict=True)
        text = "".join(f"<{key}>{value}</{key}>" for key, value in pairs)
    if kind == "blank":  # a few small ones carry zeros
        text = "".join(f"<{key}>0</{key}>" for key in CHARACTERISTICS)
    if text:
        text = f"<characteristics>{text}</characteristics>"
    rois = "".join(
        f"<roi>{_where(number, index)}<inclusion>TRUE</inclusion>{_edge(place)}</roi>"
        for index, place in places.items()
    )
    return f"<unblindedReadNodule><noduleID>{name}</noduleID>{text}{rois}</unblindedReadNodule>"


def _where(number, index):
    return (
        f"<imageZposition>{-200.0 + 2.5 * index}</imageZposition>"
        f"<imageSOP_UID>{_uid(number, 'image', index)}</imageSOP_UID>"
    )


def _edge(place):
    """Every pixel of the outline, which runs just outside of the nodule."""
    if len(place) == 2:
        points = [place]
    else:
        x0, y0, x1, y1 = place[0] - 1, place[1] - 1, place[2], place[3]
        points = [(x, y0) for x in range(x0, x1)] + [(x1, y) for y in range(y0, y1)]
        points += [(x, y1) for x in range(x1, x0, -1)] + [(x0, y) for y in range(y1, y0, -1)]
        points.append(points[0])
    return "".join(
        f"<edgeMap><xCoord>{x}</xCoord><yCoord>{y}</yCoord></edgeMap>" for x, y in points
    )


NODULE, NO_NODULE = "lung nodule >= 3 mm", "no lung nodule >= 3 mm"


def _cases(files):
    pixels = _picture(0, 6).copy()
    pixels[:, -4:] = 0
    first, second, third = (files(number) for number in range(3))
    return {
        first: {
            "present": [NODULE, "solid nodule", "malignancy rating 5"],
            "never": [NO_NODULE, "malignancy rating 4", "non-solid nodule", "part-solid nodule"],
            "patient": "1",
            "regions": {NODULE: [CORE]},
            "shows": pixels,
        },
        second: {"absent": [NODULE], "never": [NODULE, "benign lung disease"], "patient": "2"},
        third: {"never": [NO_NODULE, NODULE], "patient": "3"},
    }


def _descriptive(number):
    patient = f"LIDC-IDRI-000{number + 1}"
    study, series = f"01-01-2000-{30178 + number}", f"3000566.000000-0319{number}"
    stem = f"manifest-1600709154662/LIDC-IDRI/{patient}/{study}/{series}"
    return "|".join(f"{stem}/1-{SLICES + 1 - index:03d}.dcm" for index in range(SLICES))


def _classic(number):
    patient = f"LIDC-IDRI-000{number + 1}"
    stem = f"LIDC-IDRI/{patient}/{_uid(number, 'study')}/{_uid(number, 'series')}"
    return "|".join(f"{stem}/{SLICES + 1 - index:06d}.dcm" for index in range(SLICES))


def _with_diagnosis():
    cases = _cases(_descriptive)
    cases[_descriptive(0)]["present"].append("malignant lung disease")
    cases[_descriptive(0)]["never"].append("benign lung disease")
    return cases


_FILM = "manifest-1600709154662/LIDC-IDRI/LIDC-IDRI-0001/01-01-2000-35511/3000923.000000-62357"
EXPECTED = {
    "cases": _with_diagnosis(),
    "constants": ["axial"],
    "never": [f"{_FILM}/1-1.dcm"],
}
VARIANTS = {"classic": (write_classic, {"cases": _cases(_classic)})}
