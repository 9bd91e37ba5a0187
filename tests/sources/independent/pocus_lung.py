"""The POCUS lung ultrasound repository as its evidence card describes it."""

import csv
import io

import av
import numpy as np
from independent.paint import scene
from PIL import Image

SIZE = 64
FRAMES = 24
_HEADER = (
    "Date added,Current location,Filename,URL (Video Name),Label,Lung Severity Score,"
    "License,LinkToLicense,ChangesMade,InThisRepo,Type,Probe,DOI,Source ID,"
    "Comments from web site,Title,Comments first medical doctor (MD1),MD2,MD3,Framerate,"
    "Resolution,Length (frames),Gender,Age,Patient ID / Name,Lung /abdomen interface,"
    "Preconditions / Comments about patient,Area according to DEGUM,,Effusion,"
    "Consolidations,B-lines,A-lines,Pleural line irregularities,Air bronchogram,Healthy,"
    "Fever,Cough,Respiratory problems,Headache,Loss of smell/taste,Fatigue,Sore throat,"
    "Asymptomatic,Other"
)
HEADER = _HEADER.split(",")
SIGNS = ("Effusion", "Consolidations", "B-lines", "A-lines", "Pleural line irregularities")
SIGNS = (*SIGNS, "Air bronchogram", "Healthy")
CONVEX, LINEAR = "data/pocus_videos/convex", "data/pocus_videos/linear"
STILL = "data/pocus_images/convex"


def _row(name, label, signs, **more):
    row = dict.fromkeys(HEADER, "")
    row |= {"Filename": name, "Label": label, "License": "CC BY 4.0", "InThisRepo": "Yes"}
    row |= {"Type": "video", "Probe": "convex", "Gender": "w", "Age": "n/A"}
    row |= {"Comments from web site": 'a "quoted", long\ncomment\nof three lines'}
    row |= dict(zip(SIGNS, signs, strict=True)) if signs else {}
    return row | {key.replace("_", " "): value for key, value in more.items()}


ROWS = {
    f"{CONVEX}/Cov-Atlas+(44).gif": _row(
        "cov-atlas+(44)",
        "COVID-19",
        "0010000",
        License="CC BY-NC 4.0",
        Source_ID="A",
        **{"Patient ID / Name": "1", "Lung Severity Score": "2"},
    ),
    f"{CONVEX}/Cov-Atlas-+(43).gif": _row(
        "Cov-Atlas-+(43)", "COVID-19", "0000000", Source_ID="A", **{"Patient ID / Name": "1"}
    ),
    f"{CONVEX}/Pneu_northumbria_0409_set6_vid8.avi": _row(
        "Pneu_northumbria_0409_set6_vid8",
        "Bacterial pneumonia",
        "1100000",
        Source_ID="B",
        **{"Patient ID / Name": "1"},
    ),
    f"{CONVEX}/Reg_pat4Image_140705.mpeg": _row(
        "Reg_pat4Image_140705", "regular", "0011001", Source_ID="A", **{"Patient ID / Name": "4"}
    ),
    f"{LINEAR}/Vir_liftl_H1N1_case2_clip1.mp4": _row(
        "Vir_liftl_H1N1_case2_clip1", "Viral pneumonia", "", Probe="linear", Source_ID="C"
    ),
    f"{CONVEX}/Reg-nephropocus.MP4": _row("Reg-nephropocus", "Regular", "0001001", Source_ID="D"),
    f"{CONVEX}/Cov-early.mp4": _row("Cov-early", "COVID-19", "0001001", Source_ID="E"),
    f"{STILL}/Pneu-base (left) +1.JPG": _row(
        "Pneu-base (left) +1", "Bacterial pneumonia", "0100010", Type="Image", Source_ID="F"
    ),
    f"{CONVEX}/Reg-emergency.mp4": _row(
        "Reg-emergency", "regular", "0001001", License="COVID-19 emergency licence", Source_ID="H"
    ),
}
REFUSED = {
    f"{CONVEX}/Cov-none.mp4": _row("Cov-none", "COVID-19", "0010000", License="None"),
    f"{CONVEX}/Cov-blank.mp4": _row("Cov-blank", "COVID-19", "0010000", License=""),
    f"{CONVEX}/Cov-nd.mp4": _row("Cov-nd", "COVID-19", "0010000", License="CC BY-NC-ND 4.0"),
    f"{CONVEX}/Cov-clash.mp4": _row("Cov-clash", "regular", "0000001"),
    f"{CONVEX}/Cov-md.mp4": _row("Cov-md", "COVID-19", "0010000", MD2="please DO NOT use"),
    f"{CONVEX}/Reg-liver.mp4": _row("Reg-liver", "regular", "0000001", MD3="liver, 95% sure"),
    f"{CONVEX}/Reg-nolung.mp4": _row(
        "Reg-nolung", "regular", "0000001", **{"Comments first medical doctor (MD1)": "no lung"}
    ),
    f"{STILL}/pneu-contra.jpg": _row("pneu-contra", "Bacterial pneumonia", "1100001", Type="image"),
}
UNSURE = f"{LINEAR}/label_uncertain/Cov-unsure.mp4"
ORPHAN = f"{CONVEX}/Cov-orphan.mp4"
STAINED = "data/data_with_artifacts/Cov-arrow.mp4"


def write(root):
    rows = [*ROWS.values(), *REFUSED.values()]
    rows.append(ROWS[f"{CONVEX}/Reg-nephropocus.MP4"])
    rows.append(_row("Cov-unsure", "COVID-19", "0010000", Probe="linear"))
    rows.append(_row("Cov_looksREG_denault_proposedUS_vid15", "COVID-19", "0000001"))
    rows.append(_row("Cov-elsewhere", "COVID-19", "0010000", InThisRepo="No"))
    for number, path in enumerate([*ROWS, *REFUSED, UNSURE, ORPHAN, STAINED]):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix.lower() == ".jpg":
            Image.fromarray(_frame(number, 0).astype(np.uint8)).convert("RGB").save(file, "JPEG")
        elif file.suffix == ".gif":
            frames = [Image.fromarray(_frame(number, i).astype(np.uint8)) for i in range(FRAMES)]
            frames[0].save(file, save_all=True, append_images=frames[1:], duration=50)
        else:
            _video(file, number)
    text = io.StringIO(newline="")
    table = csv.writer(text, quoting=csv.QUOTE_MINIMAL)
    table.writerow(HEADER)
    table.writerows([row[name] for name in HEADER] for row in rows)
    (root / "data" / "dataset_metadata.csv").write_text(text.getvalue(), encoding="utf-8")
    (root / "data" / "README.md").write_text("readme\n")


def _frame(number, index):
    """A bar at the right edge grows downwards with the number of the frame."""
    picture = scene(SIZE, SIZE, number)
    picture[:, -8:] = 0
    picture[: 2 * (index + 1), -8:] = 255
    return picture


def _video(path, number):
    codec = {".avi": "mjpeg", ".mpeg": "mpeg1video"}.get(path.suffix, "mpeg4")
    muxer = {".avi": "avi", ".mpeg": "mpeg"}.get(path.suffix, "mp4")
    with av.open(str(path), "w", format=muxer) as container:
        stream = container.add_stream(codec, rate=25)
        stream.width = stream.height = SIZE
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.bit_rate = 2_000_000
        for index in range(FRAMES):
            grey = np.repeat(_frame(number, index).astype(np.uint8)[..., None], 3, axis=2)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
        container.mux(stream.encode(None))


DISEASES = ("Pneumonia", "healthy lung")


def _fact(path, disease, present=(), absent=(), unsaid=(), **more):
    number = list(ROWS).index(path)
    video = not path.lower().endswith(".jpg")
    pixels = [_frame(number, index) for index in range(FRAMES)] if video else None
    return {
        "present": [disease, "linear probe" if "/linear/" in path else "convex probe", *present],
        "never": [other for other in DISEASES if other != disease],
        "absent": list(absent),
        "open": list(unsaid),
        "shows": _frame(number, 0),
        "frame": (3, FRAMES - 4) if video else None,
        "shows_by_frame": pixels,
        **more,
    }


_EFFUSION, _CONSOLIDATION, _B, _A = "Effusion", "Consolidation", "B-lines", "A-lines"
_PLEURA, _AIR = "pleural line irregularity", "air bronchogram"
_ALL = (_EFFUSION, _CONSOLIDATION, _B, _A, _PLEURA, _AIR)
SICK, HEALTHY = DISEASES
_FACTS = [
    _fact(
        f"{CONVEX}/Cov-Atlas+(44).gif",
        SICK,
        [_B, "lung ultrasound score 2"],
        [_EFFUSION, _CONSOLIDATION, _A, _PLEURA, _AIR],
        patient="A1",
        redistribute=True,
    ),
    _fact(f"{CONVEX}/Cov-Atlas-+(43).gif", SICK, unsaid=_ALL, patient="A1", redistribute=True),
    _fact(
        f"{CONVEX}/Pneu_northumbria_0409_set6_vid8.avi",
        SICK,
        [_EFFUSION, _CONSOLIDATION],
        [_B, _A, _PLEURA, _AIR],
        patient="B1",
    ),
    _fact(
        f"{CONVEX}/Reg_pat4Image_140705.mpeg",
        HEALTHY,
        [_B, _A],
        [_EFFUSION, _CONSOLIDATION, _PLEURA, _AIR],
        patient="A4",
    ),
    _fact(f"{LINEAR}/Vir_liftl_H1N1_case2_clip1.mp4", SICK, unsaid=_ALL),
    None,
    None,
    _fact(f"{STILL}/Pneu-base (left) +1.JPG", SICK, [_CONSOLIDATION, _AIR], [_EFFUSION, _B, _A]),
    _fact(f"{CONVEX}/Reg-emergency.mp4", HEALTHY, [_A], redistribute=False),
]
EXPECTED = {
    "cases": {file: fact for file, fact in zip(ROWS, _FACTS, strict=True) if fact},
    "never": [*REFUSED, STAINED, ORPHAN],
    "reported": [*REFUSED, STAINED, ORPHAN],
    # Healthy = 1 beside a disease: an early case, or a clean clip; it is no healthy lung.
    "undiagnosed": {UNSURE: DISEASES, f"{CONVEX}/Cov-early.mp4": [HEALTHY]},
}
