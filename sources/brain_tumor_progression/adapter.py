"""Brain-Tumor-Progression: four sequences of each examination, cut where the tumour is largest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from medrcube.errors import ReadError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, MaskFile, Region, Skip
from medrcube.sources._formats.dicom.headers import read_header, series_in
from medrcube.sources._formats.dicom.patients import files_by_patient, skip_unreadable_slices
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_PATIENT = CARD.pattern("patient")
_T1, _T2, _MAPS = CARD.names("t1"), CARD.names("t2"), CARD.names("maps")
_POST, _MASK, _FLAIR = "t1post", "masktumor", "flairreg"
_SEQUENCES = (*_T1, *_T2)
_BRIEF_MS, _LONG_MS = CARD.number("most_echo_of_t1_ms"), CARD.number("least_echo_of_t2_ms")
_GRID = ("Rows", "Columns", "FrameOfReferenceUID")
_KEYWORDS = ("SeriesDescription", "StudyInstanceUID", "EchoTime", "InversionTime", *_GRID)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """One series of a study; ``kind`` is its description in lower case without punctuation."""

    key: str
    kind: str
    paths: tuple[Path, ...]
    header: Mapping[str, str]


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the series of each study of each patient."""
    del layout  # series are identified by header, not by folder name
    for patient, files in files_by_patient(root, _PATIENT):
        yield from skip_unreadable_slices(patient, files)
        try:
            series = [_series(patient, uid, paths) for uid, paths in series_in(files).items()]
        except ReadError as error:
            yield Skip(key=patient, reason=str(error), paths=tuple(files))
            continue
        for study in sorted({member.header.get("StudyInstanceUID", "") for member in series}):
            own = [
                member for member in series if member.header.get("StudyInstanceUID", "") == study
            ]
            yield from map(partial(_case, patient, own), own)


def _series(patient: str, uid: str, paths: tuple[Path, ...]) -> _Series:
    header = read_header(paths[0], _KEYWORDS)
    kind = header.get("SeriesDescription", "").replace("_", "").lower()
    return _Series(key=f"{patient}-{uid[-5:]}", kind=kind, paths=paths, header=header)


def _case(patient: str, study: Sequence[_Series], series: _Series) -> Case | Skip:
    if reason := _unusable(study, series):
        code = BAD_ROW if series.kind in _SEQUENCES else "set-aside"
        return Skip(key=series.key, reason=reason, paths=series.paths, code=code)
    masks = [member for member in study if member.kind == _MASK and _same_grid(member, series)]
    tumour = tuple(MaskFile(paths=mask.paths) for mask in masks[:1])
    evidence = "SeriesDescription"
    sequence = Label(field="sequence", value=series.kind, evidence=evidence)
    return Case(
        key=f"{series.key}-{series.kind}",
        images=(ImageRef(paths=series.paths),),
        patient=patient,
        labels=(sequence,) if tumour or series.kind in _T2 else (),
        regions=tuple(
            Region(field="tumor", value=_MASK, shape=shape, evidence=evidence)
            for shape in tumour
            if series.kind == _POST
        ),
        guide=tumour,
        unguided="" if tumour else "middle",
    )


def _unusable(study: Sequence[_Series], series: _Series) -> str:
    """Return why a series is excluded, or empty."""
    kind, post = series.kind, [member for member in study if member.kind == _POST]
    if kind == _MASK:
        return "the mask, which goes with the other series"
    if kind in _MAPS:
        return "a map that was computed of other series"
    if kind not in _SEQUENCES:
        names = (*_SEQUENCES, *_MAPS, _MASK)
        return f"{redact_cell(kind, names)} is none of the series ({', '.join(names)})"
    if (
        sum(member.kind == kind for member in study) > 1
        or sum(member.kind == _MASK for member in study) > 1
    ):
        return "its study has two series of one kind; expected one"
    if not all(_same_grid(member, series) for member in post):
        return f"lies on another grid than {_POST} of its study; expected one grid a study"
    echo = float(series.header.get("EchoTime", "nan"))
    fits = echo <= _BRIEF_MS if kind in _T1 else echo >= _LONG_MS
    if not fits or (kind == _FLAIR and "InversionTime" not in series.header):
        return "echo or inversion time is missing or contradicts the name of the series"
    return ""


def _same_grid(first: _Series, second: _Series) -> bool:
    return len(first.paths) == len(second.paths) and all(
        first.header.get(name) == second.header.get(name) for name in _GRID
    )
