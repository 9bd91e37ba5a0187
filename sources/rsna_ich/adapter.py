"""RSNA intracranial haemorrhage: six rows per slice; headers give patient, exam and order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.errors import ReadError, RefusedError, RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, Skip
from medrcube.sources._formats.borrowed_levels import borrowed_levels, level_of, nearest_slice
from medrcube.sources._formats.dicom.headers import distance_along_normal, read_header
from medrcube.sources._formats.tables.rows import skip_if_unnamed
from medrcube.sources._formats.tables.tables import find_table, iter_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

_TYPES = ("epidural", "intraparenchymal", "intraventricular", "subarachnoid", "subdural")
_NAMES = (*_TYPES, "any")
_PLACE = ("ImagePositionPatient", "ImageOrientationPatient")
_IDS = ("PatientID", "StudyInstanceUID", "SeriesInstanceUID")
CARD = own_card(__file__)
_LOW, _HIGH = CARD.numbers("soft_tissue_hu", 2)
_LEAST_SHARE = CARD.number("least_soft_tissue_share")

Types = frozenset[str]


@dataclass(frozen=True, slots=True, order=True)
class _Slice:
    """One file; sorts by exam, series and position."""

    patient: str
    study: str
    series: str
    place: float
    path: Path


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one slice per patient, and skips."""
    del layout
    table = find_table(root, "table")
    labels, skips = _labels(table)
    yield from skips
    slices: list[_Slice] = []
    for path in root.part("slices"):
        types, code = labels.get(path.stem, f"{table.name} has no rows for it"), "set-aside"
        try:
            if isinstance(types, frozenset):
                slices.append(_slice(path))
                continue
            reason = str(types)
            code = BAD_ROW if isinstance(types, RowError) else code
        except ReadError as error:
            reason = str(error)
        yield Skip(key=path.stem, reason=reason, paths=(path,), code=code)
    types_by_image = {name: types for name, types in labels.items() if isinstance(types, frozenset)}
    by_patient = {
        patient: tuple(group)
        for patient, group in groupby(sorted(slices), key=lambda entry: entry.patient)
    }
    chosen_slices = _choose(by_patient, types_by_image)
    for patient, own in by_patient.items():
        slice_of_patient = chosen_slices.get(patient)
        rest = tuple(entry.path for entry in own if entry is not slice_of_patient)
        if slice_of_patient is not None:
            case = _case(
                slice_of_patient, patient, types_by_image[slice_of_patient.path.stem], table.name
            )
            yield replace(case, series=tuple(entry.path for entry in _stack(own, slice_of_patient)))
            reason = f"one slice a patient: {slice_of_patient.path.stem} stands for this one"
        else:
            reason = "every bleeding slice of this patient shows several types"
        if rest:
            yield Skip(key=f"{rest[0].stem} and others", reason=reason, paths=rest)


def frames(case: Case, volume: Any) -> list[int]:
    """Return the only slice, if it shows enough of the head.

    Raises:
        RefusedError: code ``little-tissue`` if it does not.
    """
    del case
    units = volume.slices[0] * volume.greys.slope + volume.greys.intercept
    share = float(np.mean((units >= _LOW) & (units <= _HIGH)))
    if share < _LEAST_SHARE:
        raise RefusedError(
            f"{100 * share:.1f} % of the slice have the density of soft tissue ({_LOW:.0f} to "
            f"{_HIGH:.0f} HU); expected at least {100 * _LEAST_SHARE:.0f} %, since less shows "
            "hardly any brain",
            code="little-tissue",
        )
    return [0]


def _labels(table: Path) -> tuple[dict[str, Types | RowError | str], list[Skip]]:
    """Return the haemorrhage types by image, or the row error, and skips for rows without image.

    Four images have all their rows twice, which is harmless.
    """
    marks: dict[str, dict[str, bool]] = {}
    faults: dict[str, RowError] = {}
    skips: list[Skip] = []
    for row in iter_csv(table, columns=("ID", "Label")):
        if skip := skip_if_unnamed(row, "ID"):
            skips.append(skip)
            continue
        image, _, name = row["ID"].rpartition("_")
        if name not in _NAMES:
            reason = f"{row.quote('ID')}: expected an image and one of {', '.join(_NAMES)}"
            skips.append(Skip(key=row.place, reason=reason, code=BAD_ROW))
            continue
        own = marks.setdefault(image, {})
        try:
            present = row.meaning("Label", {"1": True, "0": False})
        except RowError as error:
            faults[image] = error
            continue
        if own.setdefault(name, present) != present:
            faults[image] = RowError(
                f"{row.quote('Label')}: another row of {row['ID']} says otherwise"
            )
    return {image: faults.get(image) or _types(own) for image, own in marks.items()}, skips


def _types(marks: dict[str, bool]) -> Types | str:
    if len(marks) != len(_NAMES):
        return f"the table has {len(marks)} rows for it; expected one each of {', '.join(_NAMES)}"
    types = frozenset(name for name in _TYPES if marks[name])
    if bool(types) != marks["any"]:
        return "the table contradicts itself: `any` must be 1 exactly when a type is"
    return types


def _slice(path: Path) -> _Slice:
    header = read_header(path, (*_IDS, *_PLACE))
    missing = [name for name in (*_IDS, *_PLACE) if name not in header]
    if missing:
        raise ReadError(f"{path.name}: the header lacks {', '.join(missing)}", code="no-position")
    try:
        position, rows = ([float(part) for part in header[name].split("\\")] for name in _PLACE)
        place = round(distance_along_normal(position, rows), 3)
    except ValueError:
        message = f"{path.name}: {' or '.join(_PLACE)} holds no 3 and 6 numbers"
        raise ReadError(message, code="no-position") from None
    patient, study, series = (header[name] for name in _IDS)
    return _Slice(patient, study, series, place, path)


def _choose(
    slices: Mapping[str, Sequence[_Slice]], labels: Mapping[str, Types]
) -> dict[str, _Slice]:
    """Choose one slice per patient; none if all bleeding slices show several types.

    The middle of the longest run of neighbours with the same single type; else, from an exam
    without any bleeding slice, a slice at the level of another patient's bleeding slice.
    """
    slice_of_patient: dict[str, _Slice] = {}
    quiet: dict[str, Sequence[_Slice]] = {}
    levels: list[float] = []
    for patient, own in slices.items():
        if run := _bleeding(own, labels):
            slice_of_patient[patient] = at = run[len(run) // 2]
            stack = _stack(own, at)
            levels.append(level_of(stack.index(at), len(stack)))
        elif stack := _quiet(own, labels):
            quiet[patient] = stack
    for patient, level in borrowed_levels(levels, quiet).items():
        slice_of_patient[patient] = quiet[patient][nearest_slice(level, len(quiet[patient]))]
    return slice_of_patient


def _bleeding(slices: Sequence[_Slice], labels: Mapping[str, Types]) -> list[_Slice]:
    """Return the longest run of neighbours in a series with the same single type."""
    best: list[_Slice] = []
    for _, stack in groupby(slices, key=lambda entry: (entry.study, entry.series)):
        for types, group in groupby(stack, key=lambda entry: labels[entry.path.stem]):
            run = list(group)
            if len(types) == 1 and len(run) > len(best):
                best = run
    return best


def _quiet(slices: Sequence[_Slice], labels: Mapping[str, Types]) -> list[_Slice]:
    """Return the first series of the first exam without any bleeding slice."""
    for _, group in groupby(slices, key=lambda entry: entry.study):
        exam = list(group)
        if not any(labels[entry.path.stem] for entry in exam):
            return _stack(exam, exam[0])
    return []


def _stack(slices: Sequence[_Slice], at: _Slice) -> list[_Slice]:
    """Return the slices of the series of a slice, by position."""
    series = (at.study, at.series)
    return [entry for entry in slices if (entry.study, entry.series) == series]


def _case(slice_of_patient: _Slice, patient: str, types: Types, table: str) -> Case:
    name = slice_of_patient.path.stem
    subtypes = tuple(
        Label(
            field="subtype",
            value=value,
            state=LabelState.PRESENT if value in types else LabelState.ABSENT,
            evidence=f"{table} {name}_{value}={int(value in types)}",
        )
        for value in _TYPES
    )
    evidence = f"{table} {name}_any={int(bool(types))}"
    presence = Label(field="hemorrhage", value="any" if types else "none", evidence=evidence)
    return Case(
        key=name,
        images=(ImageRef(paths=(slice_of_patient.path,)),),
        patient=patient,
        labels=(*subtypes, presence),
        split="train",
    )
