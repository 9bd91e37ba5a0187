"""INbreast as its evidence card describes it: films, two tables, OsiriX outlines."""

import plistlib

import numpy as np
from independent.dicoms import write_dicom
from independent.paint import scene
from independent.sheets import write_xls

HEIGHT, WIDTH = 120, 96
BASE = "INbreast Release 1.0"
ANNA, BERTA, CARLA = "6c613a14b80a8591", "036aff49b8ac84f0", "d713ef5849f98b6c"
MASS, CLUSTER, SPIKES = (40, 50, 64, 74), (20, 30, 44, 50), (30, 60, 60, 90)

# file, hash, side, view in the name, ACR, Bi-Rads, flags of Mass Micros Distortion Asymmetry
FILMS = [
    (20586908, ANNA, "R", "CC", 2, "4a", ("X", "", "", "")),
    (20586934, ANNA, "L", "ML", "   ", 2, (" ", "X", "", "")),
    (22678622, BERTA, "R", "ML", 1, 1, ("", "", "", "")),
    (50994300, BERTA, "L", "FB", 3, 3, ("", "X", "", "")),
    (50994354, CARLA, "L", "CC", 4, 6, ("X", "X", "", "")),
    (50994381, CARLA, "R", "CC", 3, 5, ("", "", "X", "X")),
]
_HEAD = (
    "Patient ID;Patient age;Laterality;View;Acquisition date;File Name;ACR;Bi-Rads;Mass ;"
    "Micros;Distortion;Asymmetry;Findings Notes (in Portuguese);Other Notes;"
    "Lesion Annotation Status;Pectoral Muscle Annotation;Other Annotations"
)
HEAD = _HEAD.split(";")


def write(root):
    base = root / BASE
    (base / "AllXML").mkdir(parents=True)
    lines, rows = [";".join(HEAD[:8])], [HEAD]
    for number, (file, hashed, side, view, acr, grade, flags) in enumerate(FILMS):
        name = f"{file}_{hashed}_MG_{side}_{view}_ANON.dcm"
        pixels = _picture(number)
        write_dicom(
            base / "AllDICOMs" / name,
            (pixels * 60).astype(np.uint16),
            kind="MG",
            sop=f"1.2.3.{file}",
            BitsStored=14,
            Modality="MG",
            PatientID="removed",
        )
        sheet_view = {"ML": "MLO"}.get(view, view)
        lines.append(f"removed;removed;{side};{sheet_view};201001;{file};{acr};{grade}")
        status = "No annotation (Normal)" if grade == 1 else None
        cells = ["removed", "removed", side, sheet_view, 201001, float(file), acr, grade]
        cells += [flag or None for flag in flags]
        rows.append([*cells, "nodulo", None, status, None, None])
    rows += [[None] * len(HEAD), ["total", *[None] * 7, 108, 308, 3, 14]]
    (base / "INbreast.csv").write_text("\r\n".join(lines) + "\r\n", newline="")
    other = [["n", "age", "date", "Bi-Rads", "DG"]]
    other += [[n, 50, 201001, row[5], "Ca Invasor"] for n, row in enumerate(FILMS[::-1])]
    write_xls(base / "INbreast.xls", {"Sheet1": rows, "Sheet2": other})
    _xml(base, 20586908, [("MASS", _corners(MASS)), ("Unnamed", _corners((5, 5, 20, 20)))])
    points = [("Calcification", [(70.0, 90.0)]), ("Point 1", [(8.0, 8.0)])]
    _xml(base, 20586934, [("Cluster", _corners(CLUSTER)), *points])
    _xml(base, 50994354, [("Mass", _corners(MASS))])
    names = ("Espiculated Region", "Assymetry", "distortion")
    _xml(base, 50994381, [(name, _corners(SPIKES)) for name in names])
    muscle = base / "PectoralMuscle" / "Pectoral Muscle XML"
    muscle.mkdir(parents=True)
    left = [(0.0, 50.0), (15.0, 25.0), (30.0, 0.0)]
    right = [(WIDTH - 1 - x, y) for x, y in left]
    for file, line in ((20586934, left), (22678622, right)):
        path = muscle / f"{file}_muscle.xml"
        path.write_bytes(plistlib.dumps(_plist([("Pectoral Muscle", line)])))


def _picture(number):
    picture = scene(HEIGHT, WIDTH, number)
    side = FILMS[number][2]
    picture[:, -10:] *= side == "R"
    picture[:, :6] *= side == "L"
    return np.floor(picture)


def _corners(box):
    x0, y0, x1, y1 = box
    return [(x0, y0), (x1 - 1, y0), (x1 - 1, y1 - 1), (x0, y1 - 1)]


def _plist(shapes):
    rois = [
        {
            "Area": 1.0,
            "Center": "(1.0, 1.0, 0.0)",
            "IndexInImage": index,
            "Name": name,
            "NumberOfPoints": len(points),
            "Point_mm": [f"({x * 0.07}, {y * 0.07}, 0.0)" for x, y in points],
            "Point_px": [f"({float(x):.6f}, {float(y):.6f})" for x, y in points],
            "Type": 15,
        }
        for index, (name, points) in enumerate(shapes)
    ]
    return {"Images": [{"ImageIndex": 0, "NumberOfROIs": len(rois), "ROIs": rois}]}


def _xml(base, file, shapes):
    (base / "AllXML" / f"{file}.xml").write_bytes(plistlib.dumps(_plist(shapes)))


GRADES = [f"BI-RADS {grade}" for grade in ("1", "2", "3", "4A", "4B", "4C", "5", "6")]
DENSITIES = [f"density {letter}" for letter in "ABCD"]
SIGNS = ["breast mass", "breast calcification", "architectural distortion", "asymmetry"]


def _file(number):
    file, hashed, side, view, *_ = FILMS[number]
    return f"{BASE}/AllDICOMs/{file}_{hashed}_MG_{side}_{view}_ANON.dcm"


def _fact(number, view, grade, density, signs=(), absent=(), regions=None):
    stated = [view, *([grade] if grade else []), *([density] if density else []), *signs]
    return {
        "present": stated,
        "absent": list(absent),
        "open": [sign for sign in SIGNS if sign not in {*signs, *absent}],
        "never": [
            other
            for other in (*GRADES, *DENSITIES, "CC", "MLO", "MALIGNANT", "BENIGN", "breast cancer")
            if other not in stated
        ],
        "patient": FILMS[number][1],
        "some_regions": regions or {},
        "shows": _picture(number),
    }


EXPECTED = {
    "cases": {
        _file(0): _fact(
            0, "CC", "BI-RADS 4A", "density B", ["breast mass"], regions={"breast mass": [MASS]}
        ),
        # That every mass was marked is said but not confirmed: no mark denies nothing.
        _file(1): _fact(1, "MLO", "BI-RADS 2", None, ["breast calcification"]),
        # A normal film was read for masks as well, but the card trusts no silence about them.
        _file(2): _fact(2, "MLO", None, "density A", absent=SIGNS[1:]),
        # 6 is a known cancer and no grade of suspicion.
        _file(4): _fact(4, "CC", None, "density D", SIGNS[:2], regions={"breast mass": [MASS]}),
        _file(5): _fact(5, "CC", "BI-RADS 5", "density C", SIGNS[2:]),
    },
    "never": [_file(3)],
    "reported": ["50994300"],
    # An outlined muscle of an oblique view, closed over the upper corner of its side.
    "muscles": {_file(1): (0, 0, 31, 51), _file(2): (WIDTH - 31, 0, WIDTH, 51)},
}
