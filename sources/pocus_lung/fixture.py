"""A synthetic POCUS tree: the table with the severity score, or the older one without."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.images import CANARY, write_clip, write_picture
from medrcube.sources._synthetic.ultrasound import Sign, lung_ultrasound

OLDER = (
    "Date added,Current location,Filename,URL (Video Name),Label,License,LinkToLicense,"
    "ChangesMade,InThisRepo,Type,Probe,DOI,Source ID,Comments from web site,Title,"
    "Comments first medical doctor (MD1),MD2,MD3,Framerate,Resolution,Length (frames),Gender,Age,"
    "Patient ID / Name,Lung /abdomen interface,Preconditions / Comments about patient,"
    "Area according to DEGUM,,Effusion,Consolidations,B-lines,A-lines,Pleural line irregularities,"
    "Air bronchogram,Healthy,Fever,Cough,Respiratory problems,Headache,Loss of smell/taste,"
    "Fatigue,Sore throat,Asymptomatic,Other"
)
NEWER = OLDER.replace("Label,", "Label,Lung Severity Score,")
SIGNS = OLDER.split(",")[28:35]
VISIBLE_SIGNS: tuple[Sign, ...] = ("effusion", "consolidation", "b-lines", "a-lines", "irregular")
"""What the first five of them look like."""
CODECS = {".avi": "mjpeg", ".mov": "mjpeg", ".mpeg": "mpeg1video"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """A row of the table and its file; ``signs`` are the seven columns from effusion on."""

    name: str
    label: str
    signs: str
    kind: str = "video"
    probe: str = "convex"
    folder: str = ""
    licence: str = "CC BY-NC 4.0"
    here: str = "Yes"
    score: str = ""
    comment: str = ""


COVID, BACTERIAL, VIRAL = "COVID-19", "Bacterial pneumonia", "Viral pneumonia"
FILMS = (
    Film(name="Cov-Atlas+(44).gif", label=COVID, signs="0010000", score="2"),
    Film(name="Cov-Atlas-+(43).gif", label=COVID, signs="0010000", score="1"),
    Film(name="Pneu_northumbria_0409_set6_vid8.avi", label=BACTERIAL, signs="1100000"),
    Film(name="Reg_pat4Image_140705.mpeg", label="regular", signs="0000001", score="0"),
    Film(name="Vir_liftl_H1N1_case2_clip1.mp4", label=VIRAL, signs="0000000"),
    Film(name="Reg_Avi_lung sliding.MP4", label="Regular", signs="       "),
    Film(name="Cov_Oliviera_Fig4A.jpg", label=COVID, signs="0010100", kind="image", score="2"),
    Film(name="Cov_paper2.png", label=COVID, signs="0100010", kind="Image", score="3"),
    Film(name="Pneu_Avi_effusion.JPG", label=BACTERIAL, signs="1000000", kind="image", score="1"),
    Film(name="Reg_Avi_A-lines.JPG", label="regular", signs="0001001", kind="image", score="0"),
    Film(
        name="Cov_smooth_linear.mov",
        label=COVID,
        signs="0000001",
        probe="linear",
        licence="COVID-19 emergency license",
    ),
    Film(
        name="Cov_lines_linear.jpg",
        label=COVID,
        signs="0000100",
        kind="image",
        probe="linear",
        licence="CC BY 2.0",
    ),
    # What must not become a case.
    Film(
        name="Cov_unsure_clip.mp4",
        label=COVID,
        signs="0010000",
        probe="linear",
        folder="pocus_videos/linear/label_uncertain",
    ),
    Film(name="Pneu_both.jpg", label=BACTERIAL, signs="1100001", kind="image"),
    Film(name="Reg_clash.jpg", label=COVID, signs="0010000", kind="image"),
    Film(name="recommendations_blines_mov2.mp4", label="regular", signs="0010000"),
    Film(name="Pneu_liver.gif", label=BACTERIAL, signs="0100000", comment=">95% is Liver"),
    Film(
        name="Pneu_arrows.png", label=BACTERIAL, signs="0100000", kind="image", comment="Do not use"
    ),
    Film(name="Cov_nd.jpg", label=COVID, signs="0010000", kind="image", licence="CC BY-NC-ND 4.0"),
    Film(name="Cov-Butterfly.mp4", label=COVID, signs="0010000", licence="None", here="No"),
    Film(name="Cov_elsewhere.mp4", label=COVID, signs="0010000", here="No"),
    Film(name="Cov_looksREG_vid15.mp4", label=COVID, signs="0010000"),
    Film(name="Reg-nephropocus.mp4", label="regular", signs="0000001", here="No"),
    Film(name="Reg-nephropocus.mp4", label="regular", signs="0000000", here="No", probe="linear"),
)
LOST = {"Cov_looksREG_vid15.mp4"}
"""Said to be in the repository, but not there."""


def build(root: Path, layout: str) -> None:
    """Write the files and the table; ``capital`` has the older table and folder names."""
    data = root / "data"
    for seed, film in enumerate(FILMS):
        if film.here == "Yes" and film.name not in LOST:
            _film(data / _folder(film, layout) / film.name, seed, film.signs)
    write_picture(data / "data_with_artifacts/Cov_marked.png", lung_ultrasound(60, 60, seed=90))
    if layout == "capital":
        cut = data / "pocus_images/Convex/covid/Cov-Atlas+(44)_frame0.jpg"
        write_picture(cut, lung_ultrasound(60, 60, seed=91))
    header = NEWER if layout == "current" else OLDER
    with (data / "dataset_metadata.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, header.split(","), restval="", extrasaction="ignore")
        table.writeheader()
        table.writerows(_row(number, film) for number, film in enumerate(FILMS))


def _folder(film: Film, layout: str) -> str:
    kind = "pocus_videos" if film.kind == "video" else "pocus_images"
    probe = film.probe.capitalize() if layout == "capital" else film.probe
    return film.folder or f"{kind}/{probe}"


def _film(path: Path, seed: int, signs: str) -> None:
    present = [name for name, sign in zip(VISIBLE_SIGNS, signs, strict=False) if sign == "1"]
    grey = lung_ultrasound(96, 80, seed=seed, signs=present)
    if path.suffix.lower() in {".jpg", ".png"}:
        write_picture(path, np.stack([grey] * 3, axis=-1))
    else:
        frames = [np.roll(grey, shift, axis=1) for shift in range(5)]
        write_clip(path, frames, codec=CODECS.get(path.suffix, "mpeg4"))


def _row(number: int, film: Film) -> dict[str, str]:
    return {
        "Date added": "20.04.20",
        "Filename": film.name.rpartition(".")[0],
        "Label": film.label,
        "Lung Severity Score": film.score,
        "License": film.licence,
        "InThisRepo": film.here,
        "Type": film.kind,
        "Probe": film.probe,
        "Source ID": "18",
        "Comments from web site": f'With breathing,\nthe "{CANARY}" lung moves',
        "Comments first medical doctor (MD1)": film.comment or f"seen by {CANARY}",
        "MD2": f"seen by {CANARY}",
        "MD3": f"seen by {CANARY}",
        "Gender": "w",
        "Age": "27",
        "Patient ID / Name": f"{CANARY} {number}" if number % 3 else "",
        **{column: sign.strip() for column, sign in zip(SIGNS, film.signs, strict=True)},
        "Fever": "n/A",
    }
