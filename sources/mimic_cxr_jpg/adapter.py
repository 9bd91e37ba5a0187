"""MIMIC-CXR-JPG: one case per chest film; labels of a study where both labelers agree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.records import Case, ImageRef, Scope, Skip, State
from medrcube.sources.chexpert_labels import COLUMNS, Reading, agreed, labels_of, read_states
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.rows import nameless, unless_bad
from medrcube.sources.tables import Row, find_table, iter_csv, seek_table

_FILMS = f"**/{'-'.join(['?' * 8] * 5)}.jpg"
_FRONTAL, _LATERAL = {"AP", "PA"}, {"LATERAL", "LL"}
# Named by the authors; none is a plain view of the chest.
_OTHER = {
    *("", "LPO", "RAO", "RPO", "LAO", "AP AXIAL", "XTABLE LATERAL", "AP LLD", "PA LLD"),
    *("AP RLD", "PA RLD", "SWIMMERS", "L5 S1"),
}
_PROCEDURE = ("PerformedProcedureStepDescription", "ProcedureCodeSequence_CodeMeaning")
_POSITION = "PatientOrientationCodeSequence_CodeMeaning"
_ELSEWHERE = re.compile(r"KNEE|ABDOM|CLAVIC|SCOLIO|\bRIB|STERN|SHOULDER|PELVI|SPINE")
_RELATED = {
    **dict.fromkeys(("Edema", "Lung Lesion", "Atelectasis"), ("Lung Opacity",)),
    "Consolidation": ("Lung Opacity", "Pneumonia"),
    "Pneumonia": ("Lung Opacity", "Consolidation"),
    "Lung Opacity": ("Edema", "Lung Lesion", "Atelectasis", "Consolidation", "Pneumonia"),
    "Cardiomegaly": ("Enlarged Cardiomediastinum",),
    "Enlarged Cardiomediastinum": ("Cardiomegaly",),
}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield a case or a reason for every row of the metadata table, in its order."""
    table, files = find_table(root, "mimic-cxr-2.0.0-metadata"), root.stems(_FILMS)
    rows = _rows(root, "2.0.0-split", "dicom_id", "split")
    splits = {row["dicom_id"]: row["split"] for row in rows}
    readings = _readings(root, checked=layout == "2.1.0")
    columns = ("dicom_id", "subject_id", "study_id", "ViewPosition", *_PROCEDURE, _POSITION)
    for row in iter_csv(table, columns=columns):
        subject, study, name = row["subject_id"], row["study_id"], row["dicom_id"]
        if not name:
            yield nameless(row, "dicom_id")
            continue
        place = f"files/p{subject[:2]}/p{subject}/s{study}/{name}.jpg"
        path = files.get(name, root.path / place)
        make = partial(_film, row, path, readings.get(study), splits.get(name) or None)
        yield from unless_bad(make, key=name, paths=(path,))


def _film(
    row: Row, path: Path, reading: Reading | RowError | None, split: str | None
) -> Iterator[Case | Skip]:
    reason = _unsuited(row)
    if reason:
        yield Skip(key=row["dicom_id"], reason=f"{row.place}: {reason}", paths=(path,))
        return
    if isinstance(reading, RowError):
        raise reading
    row.name("study_id")
    labels = [row.label("ViewPosition", field="view")]
    labels += [row.label(_POSITION, field="position")] if row[_POSITION] else []
    yield Case(
        key=row["dicom_id"],
        images=(ImageRef(paths=(path,)),),
        patient=row.name("subject_id"),
        labels=(*labels, *(labels_of(_settled(reading)) if reading else ())),
        split=split,
        shows=Scope.STUDY if row["ViewPosition"] in _FRONTAL else Scope.IMAGE,
    )


def _unsuited(row: Row) -> str:
    """Why a film is set aside: not every film of the collection shows a chest."""
    view, text = row["ViewPosition"], " / ".join(row[column] for column in _PROCEDURE).upper()
    if view in _OTHER:
        return f"the view is {view or 'not stated'}; expected a plain frontal or lateral film"
    if "CHEST" not in text or _ELSEWHERE.search(text):
        return "the procedure names another region than the chest, or none"
    return ""


def _readings(root: RawTree, *, checked: bool) -> Mapping[str, Reading | RowError]:
    """Labels by study: of both labelers where they agree, or those of the radiologist."""
    one, other = (_table(root, name) for name in ("2.0.0-chexpert", "2.0.0-negbio"))
    empty = Reading(place="no row", states={})
    found = {
        study: _both(one.get(study, empty), other.get(study, empty))
        for study in dict.fromkeys((*one, *other))
    }
    return found | _table(root, "2.1.0-test-set-labeled") if checked else found


def _table(root: RawTree, name: str) -> dict[str, Reading | RowError]:
    """Labels by study, or why its row cannot be used."""
    found: dict[str, Reading | RowError] = {}
    for row in _rows(root, name, "study_id", *COLUMNS):
        try:
            found[row["study_id"]] = read_states(row)
        except RowError as error:
            found[row["study_id"]] = error
    return found


def _both(one: Reading | RowError, other: Reading | RowError) -> Reading | RowError:
    if isinstance(one, RowError):
        return one
    return other if isinstance(other, RowError) else agreed(one, other)


def _settled(reading: Reading) -> Reading:
    """A finding whose parent or child is uncertain is uncertain too."""
    states = {
        name: State.UNKNOWN
        if any(reading.states.get(kin) is State.UNKNOWN for kin in _RELATED.get(name, ()))
        else state
        for name, state in reading.states.items()
    }
    return replace(reading, states=states)


def _rows(root: RawTree, name: str, *columns: str) -> Iterator[Row]:
    table = seek_table(root, f"mimic-cxr-{name}")
    return iter(()) if table is None else iter_csv(table, columns=columns)
