"""A few synthetic studies with the tables of both versions, packed or not."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from pathlib import Path

from medrcube.sources._synthetic.chest_signs import areas_of, film_with
from medrcube.sources._synthetic.images import write_lines, write_picture

_LABELS = (
    *("Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Enlarged Cardiomediastinum"),
    *("Fracture", "Lung Lesion", "Lung Opacity", "No Finding", "Pleural Effusion"),
    *("Pleural Other", "Pneumonia", "Pneumothorax", "Support Devices"),
)
_METADATA = (
    "dicom_id,subject_id,study_id,PerformedProcedureStepDescription,ViewPosition,Rows,Columns,"
    "StudyDate,StudyTime,ProcedureCodeSequence_CodeMeaning,ViewCodeSequence_CodeMeaning,"
    "PatientOrientationCodeSequence_CodeMeaning"
)
# Subject, study, procedure, view and position of each film.
_FILMS = (
    (10000032, 50414267, "CHEST (PA AND LAT)", "PA", "Erect"),
    (10000032, 50414267, "CHEST (PA AND LAT)", "LATERAL", "Erect"),
    (10000764, 57375967, "CHEST (PORTABLE AP)", "AP", "Recumbent"),
    (10000898, 50771383, "CHEST (PA AND LAT)", "PA", ""),
    (10000898, 50771383, "CHEST (PA AND LAT)", "LL", ""),
    (10000935, 51178377, "CHEST (PORTABLE AP)", "AP", ""),
    (10000980, 50985099, "CHEST (PORTABLE AP)", "AP AXIAL", ""),
    (10000980, 51967283, "KNEE (AP, LAT AND OBLIQUE)", "AP", ""),
    (10000980, 51967284, "", "PA", "Erect"),
    (10001038, 52821744, "CHEST (PA AND LAT)", "PA", "Erect"),
)
# Signs of the fourteen labels by study, as both labelers give them.
_CHEXPERT = {
    50414267: "........+.....",
    57375967: "+-+-...+.+-+--",
    50771383: "...+..?+....+.",
    51178377: ".+..++....+..+",
}
_NEGBIO = _CHEXPERT | {50771383: "...+..?.....+.", 51178377: ".+..+++...+..+"}
_CHECKED = {52821744: "-+----+------+-", 51178377: "-+-+-+-+------"}
_SIGNS = {"+": "1.0", "-": "0.0", "?": "-1.0", ".": ""}


def build(root: Path, layout: str) -> None:
    """Write films and tables: packed in version 2.0.0, below the folders of wget in 2.1.0."""
    home = root
    if layout == "2.1.0":
        home = root / "physionet.org" / "files" / "mimic-cxr-jpg" / layout
    metadata, splits = [_METADATA], ["dicom_id,study_id,subject_id,split"]
    for number, (subject, study, procedure, view, position) in enumerate(_FILMS):
        digest = hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest() + "0123abcd"
        dicom = "-".join(digest[start : start + 8] for start in range(0, 40, 8))
        folder = home / "files" / f"p{subject}"[:3] / f"p{subject}" / f"s{study}"
        signs = (_CHECKED | _CHEXPERT).get(study, "")
        findings = [label for label, sign in zip(_LABELS, signs, strict=False) if sign == "+"]
        areas = areas_of(findings, 150, 130, seed=number)
        film = film_with(areas, 150, 130, seed=number, lateral=view in {"LATERAL", "LL"})
        write_picture(folder / f"{dicom}.jpg", film)
        rest = f'{view},150,130,21800506,213014.53,"{procedure}",,{position}'
        metadata.append(f'{dicom},{subject},{study},"{procedure}",{rest}')
        split = ("train", "validate", "test")[number % 3]
        splits.append(f"{dicom},{study},{subject},{split}")
    subjects = {study: subject for subject, study, *_ in _FILMS}
    ending = ".csv" if layout == "2.1.0" else ".csv.gz"
    _write(home / f"mimic-cxr-2.0.0-metadata{ending}", metadata)
    _write(home / f"mimic-cxr-2.0.0-split{ending}", splits)
    header = ",".join(("subject_id", "study_id", *_LABELS))
    for labeler, table in (("chexpert", _CHEXPERT), ("negbio", _NEGBIO)):
        lines = [f"{subjects[study]},{study},{_cells(signs)}" for study, signs in table.items()]
        _write(home / f"mimic-cxr-2.0.0-{labeler}{ending}", [header, *lines])
    if layout == "2.1.0":
        header = ",".join(("study_id", *_LABELS)).replace("Lung Opacity", "Airspace Opacity")
        lines = [f"{study},{_cells(signs)}" for study, signs in _CHECKED.items()]
        _write(home / "mimic-cxr-2.1.0-test-set-labeled.csv", [header, *lines])


def _cells(signs: str) -> str:
    return ",".join(_SIGNS[sign] for sign in signs)


def _write(path: Path, lines: Sequence[str]) -> None:
    write_lines(path, lines)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
