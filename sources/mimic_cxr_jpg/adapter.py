"""MIMIC-CXR-JPG: one case per chest film; study labels on which both labelers agree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, LabelState, Scope, Skip
from medrcube.sources._formats.chexpert_labels import (
    COLUMNS,
    StudyLabels,
    case_labels,
    consensus,
    read_states,
)
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name, skip_if_unnamed
from medrcube.sources._formats.tables.tables import (
    TableRow,
    find_optional_table,
    find_table,
    iter_csv,
)
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

_FRONTAL, _LATERAL = {"AP", "PA"}, {"LATERAL", "LL"}
# View names of the authors that are not plain chest views.
_OTHER = {
    *("", "LPO", "RAO", "RPO", "LAO", "AP AXIAL", "XTABLE LATERAL", "AP LLD", "PA LLD"),
    *("AP RLD", "PA RLD", "SWIMMERS", "L5 S1"),
}
"""Radiologist's labels of the test studies, which take precedence over both labelers."""
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
    """Yield a case or a skip for every row of the metadata table, in table order."""
    del layout  # 2.1.0 has one additional table
    table, files = find_table(root, "table"), root.stems("films")
    splits, lost = _splits(root)
    readings, more = _readings(root)
    checked, nameless = _table(root, "read")
    yield from (*lost, *more, *nameless)
    columns = ("dicom_id", "subject_id", "study_id", "ViewPosition", *_PROCEDURE, _POSITION)
    for row in iter_csv(table, columns=columns):
        if skip := skip_if_unnamed(row, "dicom_id"):
            yield skip
            continue
        name = row["dicom_id"]
        try:
            subject, study = row["subject_id"], row["study_id"]
        except RowError as error:
            paths = (files[name],) if name in files else ()
            yield Skip(key=name, reason=str(error), paths=paths, code=BAD_ROW)
            continue
        place = f"files/p{subject[:2]}/p{subject}/s{study}/{name}.jpg"
        path = files.get(name, root.path / place)
        reading = checked.get(study) or readings.get(study)
        split = splits.get(name)
        if isinstance(split, RowError):
            yield Skip(key=name, reason=str(split), paths=(path,), code=BAD_ROW)
            continue
        if nameless and study not in checked and split in (None, "test"):
            reading = RowError(
                f"{nameless[0].reason}; it may be that of this film, whose study has no row there"
            )
        make = partial(_film, row, path, reading, split)
        yield from cases_or_skip(make, key=name, paths=(path,))


def _film(
    row: TableRow, path: Path, reading: StudyLabels | RowError | None, split: str | None
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
        labels=(*labels, *(case_labels(_settled(reading)) if reading else ())),
        split=split,
        shows=Scope.STUDY if row["ViewPosition"] in _FRONTAL else Scope.IMAGE,
    )


def _unsuited(row: TableRow) -> str:
    """Return why a film is excluded; not every film of the collection shows a chest."""
    view, text = row["ViewPosition"], " / ".join(row[column] for column in _PROCEDURE).upper()
    if view in _OTHER:
        return f"the view is {view or 'not stated'}; expected a plain frontal or lateral film"
    if "CHEST" not in text or _ELSEWHERE.search(text):
        return "the procedure names another region than the chest, or none"
    return ""


def _splits(root: RawTree) -> tuple[dict[str, str | RowError | None], list[Skip]]:
    """Return the split of each film, or its row error, and skips for rows without a film."""
    rows_of, lost = group_by_name(_rows(root, "splits", "dicom_id", "split"), "dicom_id")
    return {name: _split(rows[-1]) for name, rows in rows_of.items()}, lost


def _split(row: TableRow) -> str | RowError | None:
    try:
        return row["split"] or None
    except RowError as error:
        return error


def _readings(root: RawTree) -> tuple[Mapping[str, StudyLabels | RowError], list[Skip]]:
    """Return the labels by study on which both labelers agree."""
    first, lost = _table(root, "chexpert")
    other, more = _table(root, "negbio")
    empty = StudyLabels(place="no row", states={})
    studies = dict.fromkeys((*first, *other))
    labels = {study: _both(first.get(study, empty), other.get(study, empty)) for study in studies}
    return labels, [*lost, *more]


def _table(root: RawTree, part: str) -> tuple[dict[str, StudyLabels | RowError], list[Skip]]:
    """Return labels by study, or the row error, and skips for rows without a study."""
    labels: dict[str, StudyLabels | RowError] = {}
    lost: list[Skip] = []
    for row in _rows(root, part, "study_id", *COLUMNS):
        if skip := skip_if_unnamed(row, "study_id", "study"):
            lost.append(skip)
            continue
        study = row["study_id"]
        try:
            labels[study] = _same(row, labels.get(study), read_states(row))
        except RowError as error:
            labels[study] = error
    return labels, lost


def _same(
    row: TableRow, before: StudyLabels | RowError | None, reading: StudyLabels
) -> StudyLabels:
    """Return the reading of a row, which must equal that of other rows of its study.

    Raises:
        RowError: another row is unusable or states something else.
    """
    if isinstance(before, RowError):
        raise before
    if before is not None and before.states != reading.states:
        raise RowError(
            f"{row.quote('study_id')}: {before.place} says otherwise of this study; expected one "
            "row for each"
        )
    return reading


def _both(first: StudyLabels | RowError, other: StudyLabels | RowError) -> StudyLabels | RowError:
    if isinstance(first, RowError):
        return first
    return other if isinstance(other, RowError) else consensus(first, other)


def _settled(reading: StudyLabels) -> StudyLabels:
    """Make findings uncertain whose parent or child is uncertain."""
    states = {
        name: LabelState.UNKNOWN
        if any(reading.states.get(kin) is LabelState.UNKNOWN for kin in _RELATED.get(name, ()))
        else state
        for name, state in reading.states.items()
    }
    return replace(reading, states=states)


def _rows(root: RawTree, part: str, *columns: str) -> Iterator[TableRow]:
    table = find_optional_table(root, part)
    return iter(()) if table is None else iter_csv(table, columns=columns)
