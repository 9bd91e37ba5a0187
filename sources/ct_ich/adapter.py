"""CT-ICH: a slice per haemorrhage type in the brain window, of a fracture in the bone window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from medrcube.errors import RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, Skip
from medrcube.sources._formats.borrowed_levels import drawn_slice
from medrcube.sources._formats.label_maps import mask_regions
from medrcube.sources._formats.runs import longest_run
from medrcube.sources._formats.single_slices import only_frame
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_SIDE = CARD.integer("side_px")
_PICTURE, _MASK = CARD.pattern("picture", "number"), CARD.pattern("mask", "number")
_TYPES = ("Intraventricular", "Intraparenchymal", "Subarachnoid", "Epidural", "Subdural")
_LEVELS = {window: CARD.numbers(f"{window}_levels", 10) for window in ("brain", "bone")}
_STATES, _FIELDS = {"1": True, "0": False}, ("organ", "contrast")
_LABELS = {"1": LabelState.PRESENT, "0": LabelState.ABSENT}


_Files = Mapping[tuple[str, str, int], Path]


@dataclass(frozen=True, slots=True, order=True)
class _Slice:
    """One row of the table."""

    patient: str
    number: int
    types: frozenset[str] = field(compare=False)
    fracture: bool = field(compare=False)
    row: TableRow = field(compare=False)


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield cases and skips by patient number."""
    del layout
    files = {_place(path): path for part in ("pictures", "masks") for path in root.part(part)}
    slices: list[_Slice] = []
    columns = ("PatientNumber", "SliceNumber", *_TYPES, "No_Hemorrhage", "Fracture_Yes_No")
    for row in read_csv(find_table(root, "table"), columns=columns):
        try:
            slices.append(_slice(row, files))
        except RowError as error:
            yield Skip(key=row.place, reason=str(error), code=BAD_ROW)
    for patient, group in groupby(sorted(slices), key=lambda entry: entry.patient):
        own_cases = list(_patient(list(group), root, files))
        yield from own_cases
        used = {path for case in own_cases for path in case.files()}
        own = [path for place, path in sorted(files.items()) if place[0] == patient]
        if rest := tuple(path for path in own if path not in used):
            reason = "one slice of each patient and type; others stand for this one"
            yield Skip(key=f"{patient} others", reason=reason, paths=rest)


def frames(case: Case, volume: Any) -> list[int]:
    """Return the only frame.

    Raises:
        ReadError: code ``resized`` if the size differs from that of the release.
    """
    return only_frame(case, volume, side=_SIDE, release="version 1.0.0")


def _place(path: Path) -> tuple[str, str, int]:
    """Parse patient, window or ``mask``, and slice number from a file path."""
    kind, match = path.parent.name, _PICTURE.fullmatch(path.name)
    if match is None:
        kind, match = "mask", _MASK.fullmatch(path.name)
    return path.parent.parent.name, kind, int(match["number"]) if match else 0


def _slice(row: TableRow, files: _Files) -> _Slice:
    types = frozenset(name for name in _TYPES if row.meaning(name, _STATES))
    if bool(types) == row.meaning("No_Hemorrhage", _STATES):
        raise RowError(f"{row.quote('No_Hemorrhage')}: expected 1 exactly where no type is 1")
    patient, number = f"{row.integer('PatientNumber'):03}", row.integer("SliceNumber")
    if not types and (patient, "mask", number) in files:
        raise RowError(f"{row.quote('No_Hemorrhage')}: a mask of the slice marks a hemorrhage")
    return _Slice(patient, number, types, row.meaning("Fracture_Yes_No", _STATES), row)


def _patient(slices: Sequence[_Slice], root: RawTree, files: _Files) -> Iterator[Case]:
    """Yield a slice per haemorrhage type and one with a fracture, or a slice without either."""
    quiet = not any(entry.types for entry in slices)
    for types in [frozenset[str]()] if quiet else [frozenset((name,)) for name in _TYPES]:
        run = longest_run(slices, lambda at, own=types: at.types == own)  # type: ignore[misc]
        for at in _middle(run, "brain", files, clear=quiet):
            yield _case(at, "brain", root, files, _brain(at.row, "none" if quiet else "any"))
    broken = any(entry.fracture for entry in slices)
    run = longest_run(slices, lambda entry: entry.fracture == broken)
    for at in _middle(run, "bone", files, clear=not broken):
        label = at.row.label("Fracture_Yes_No", field="fracture", value="1" if broken else "none")
        yield _case(at, "bone", root, files, (label,))


def _middle(run: Sequence[_Slice], window: str, files: _Files, *, clear: bool) -> list[_Slice]:
    """Return the slice nearest to the middle of a run, or, in a clear stack, to a drawn level."""
    here = [entry for entry in run if (entry.patient, window, entry.number) in files] or run
    at = run[len(run) // 2].number if run else 0
    if clear:  # count images: a lost row must not move the slice
        count = sum(place[:2] == (run[0].patient, window) for place in files)
        at = 1 + drawn_slice(run[0].patient, count or len(run), _LEVELS[window])
    return sorted(here, key=lambda entry: abs(entry.number - at))[:1]


def _brain(row: TableRow, presence: str) -> tuple[Label, ...]:
    organ_labels = (Label(field=name, value="brain", evidence="folder brain") for name in _FIELDS)
    types = (row.label(x, field="subtype", value=x, state=row.state(x, _LABELS)) for x in _TYPES)
    return (*organ_labels, row.label("No_Hemorrhage", field="hemorrhage", value=presence), *types)


def _case(at: _Slice, window: str, root: RawTree, files: _Files, labels: tuple[Label, ...]) -> Case:
    path = root / f"Patients_CT/{at.patient}/{window}/{at.number}.jpg"
    mask = files.get((at.patient, "mask", at.number)) if window == "brain" else None
    return Case(
        key=f"{at.patient}-{window}-{at.number}",
        images=(ImageRef(paths=(files.get((at.patient, window, at.number), path),)),),
        patient=at.patient,
        labels=labels,
        regions=mask_regions([mask] if mask else [], field="hemorrhage", value="any"),
    )
