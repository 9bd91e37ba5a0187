"""CT-ICH: a slice of each type of hemorrhage in the brain window, of a fracture in the bone one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from medrcube.errors import ReadError, RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, MaskFile, Region, Skip
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_SIDE = CARD.integer("side_px")
_PICTURE, _MASK = CARD.pattern("picture", "number"), CARD.pattern("mask", "number")
_TYPES = ("Intraventricular", "Intraparenchymal", "Subarachnoid", "Epidural", "Subdural")
_STATES = {"1": True, "0": False}


@dataclass(frozen=True, slots=True)
class _Slice:
    """One row of the table."""

    patient: str
    number: int
    types: frozenset[str]
    fracture: bool
    row: TableRow


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the patients by number, and what is set aside."""
    del layout
    files = {_place(path): path for part in ("pictures", "masks") for path in root.part(part)}
    slices: list[_Slice] = []
    columns = ("PatientNumber", "SliceNumber", *_TYPES, "No_Hemorrhage", "Fracture_Yes_No")
    for row in read_csv(find_table(root, "table"), columns=columns):
        try:
            slices.append(_slice(row, files))
        except RowError as error:
            yield Skip(key=row.place, reason=str(error), code=BAD_ROW)
    used: set[Path] = set()
    for patient, group in groupby(sorted(slices, key=_order), key=lambda entry: entry.patient):
        for case in _patient(list(group), root, files):
            used.update(case.files())
            yield case
        rest = tuple(
            path
            for place, path in sorted(files.items())
            if place[0] == patient and path not in used
        )
        if rest:
            reason = "one slice of each patient and type; others stand for this one"
            yield Skip(key=f"{patient} others", reason=reason, paths=rest)


def frames(case: Case, volume: Any) -> list[int]:
    """The only one.

    Raises:
        ReadError: code ``resized`` where the slice has another size than those of the release.
    """
    rows, columns = volume.slices.shape[1:3]
    if (rows, columns) != (_SIDE, _SIDE):
        raise ReadError(
            f"{case.key} has {columns} x {rows} pixels; expected {_SIDE} x {_SIDE}, as the release "
            "has: get version 1.0.0",
            code="resized",
        )
    return [0]


def _place(path: Path) -> tuple[str, str, int]:
    """Patient, window or ``mask``, and number of a slice, by the name of its file."""
    kind, match = path.parent.name, _PICTURE.fullmatch(path.name)
    if match is None:
        kind, match = "mask", _MASK.fullmatch(path.name)
    return path.parent.parent.name, kind, int(match["number"]) if match else 0


def _slice(row: TableRow, files: Mapping[tuple[str, str, int], Path]) -> _Slice:
    types = frozenset(name for name in _TYPES if row.meaning(name, _STATES))
    if bool(types) == row.meaning("No_Hemorrhage", _STATES):
        raise RowError(f"{row.quote('No_Hemorrhage')}: expected 1 exactly where no type is 1")
    patient, number = f"{row.integer('PatientNumber'):03}", row.integer("SliceNumber")
    if not types and (patient, "mask", number) in files:
        raise RowError(f"{row.quote('No_Hemorrhage')}: a mask of the slice marks a hemorrhage")
    return _Slice(patient, number, types, row.meaning("Fracture_Yes_No", _STATES), row)


def _order(entry: _Slice) -> tuple[str, int]:
    return entry.patient, entry.number


def _patient(
    slices: Sequence[_Slice], root: RawTree, files: Mapping[tuple[str, str, int], Path]
) -> Iterator[Case]:
    """A slice of each type in the brain window and of a fracture in the bone window, or of none."""
    sets = [frozenset[str](), *({frozenset((name,)) for name in _TYPES})]
    quiet = not any(entry.types for entry in slices)
    for types in sorted(sets, key=sorted):
        if types or quiet:
            at = _middle(slices, [entry.types == types for entry in slices], "brain", files)
            if at is not None:
                yield _brain(at, root, files)
    fractured = any(entry.fracture for entry in slices)
    at = _middle(slices, [entry.fracture == fractured for entry in slices], "bone", files)
    if at is not None:
        state = "1" if fractured else "none"
        label = Label(field="fracture", value=state, evidence=at.row.cite("Fracture_Yes_No"))
        yield _case(at, "bone", root, files, (label,))


def _middle(
    slices: Sequence[_Slice],
    fits: Sequence[bool],
    window: str,
    files: Mapping[tuple[str, str, int], Path],
) -> _Slice | None:
    """The slice of this copy next to the middle of the longest run that fits."""
    pairs = zip(slices, fits, strict=True)
    runs = [[entry for entry, _ in run] for fit, run in groupby(pairs, lambda it: it[1]) if fit]
    run = max(runs, key=len, default=[])
    here = [entry for entry in run if (entry.patient, window, entry.number) in files]
    centre = run[len(run) // 2].number if run else 0
    return min(here or run, key=lambda entry: abs(entry.number - centre), default=None)


def _brain(at: _Slice, root: RawTree, files: Mapping[tuple[str, str, int], Path]) -> Case:
    presence = "any" if at.types else "none"
    labels = (
        Label(field="organ", value="brain", evidence="folder brain"),
        Label(field="contrast", value="brain", evidence="folder brain"),
        Label(field="hemorrhage", value=presence, evidence=at.row.cite("No_Hemorrhage")),
        *(
            Label(
                field="subtype",
                value=name,
                state=LabelState.PRESENT if name in at.types else LabelState.ABSENT,
                evidence=at.row.cite(name),
            )
            for name in _TYPES
        ),
    )
    case = _case(at, "brain", root, files, labels)
    mask = files.get((at.patient, "mask", at.number))
    if mask is None:
        return case
    shape = MaskFile(paths=(mask,))
    region = Region(field="hemorrhage", value="any", shape=shape, evidence=mask.name)
    return replace(case, regions=(region,))


def _case(
    at: _Slice,
    window: str,
    root: RawTree,
    files: Mapping[tuple[str, str, int], Path],
    labels: tuple[Label, ...],
) -> Case:
    path = root / f"Patients_CT/{at.patient}/{window}/{at.number}.jpg"
    return Case(
        key=f"{at.patient}-{window}-{at.number}",
        images=(ImageRef(paths=(files.get((at.patient, window, at.number), path),)),),
        patient=at.patient,
        labels=labels,
    )
