"""COVID-CT-MD: one slice of each scan with slice-level labels, and of each normal scan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from medrcube.errors import ReadError, RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, Skip
from medrcube.sources._formats.dicom.slice_numbers import number_from_head
from medrcube.sources._formats.runs import longest_run
from medrcube.sources._formats.tables.arrays import read_flags
from medrcube.sources._formats.tables.tables import find_optional_table, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_PATIENT = CARD.pattern("patient", "group", "number")
_COVID, _OTHERS = CARD.integer("read_covid"), CARD.integer("read_cap")
_ROWS = (
    *(f"P{number:03}" for number in range(1, _COVID + 1)),
    *(f"cap{number:03}" for number in range(1, _OTHERS + 1)),
)
_SHAPE = (len(_ROWS), CARD.integer("columns"))
_STEP, _OFF = CARD.number("slice_mm"), CARD.number("most_mm_off")
_GROUPS = {"P": "COVID-19", "cap": "CAP", "normal": "Normal"}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the cases by patient name."""
    del layout
    flags = find_optional_table(root, "updated") or find_table(root, "flags")
    rows = _rows(find_table(root, "index"))
    lesions = [[k for k, flag in enumerate(row) if flag] for row in read_flags(flags, _SHAPE)]
    folders: dict[str, list[Path]] = {}
    for path in root.part("slices"):
        folders.setdefault(path.parent.name, []).append(path)
    for name, paths in sorted(folders.items()):
        match = _PATIENT.fullmatch(name)
        if match is None:
            yield Skip(key=name, reason="no folder of a patient, such as P001", paths=tuple(paths))
            continue
        group, number = _GROUPS[match["group"]], int(match["number"])
        row = (number - 1) % len(lesions) if group == "Normal" else rows.get(name)
        if not isinstance(row, int):
            reason = "not read slice by slice: which slice shows the infection is not known"
            code = "set-aside" if row is None else BAD_ROW
            yield Skip(key=name, reason=row or reason, paths=tuple(paths), code=code)
            continue
        try:
            stack = number_from_head(paths, step=_STEP, most_off=_OFF)
            slices = (
                sorted(stack) if group == "Normal" else _marked_slices(name, stack, lesions[row])
            )
        except ReadError as error:
            yield Skip(key=name, reason=str(error), paths=tuple(paths), code=error.code)
            continue
        k = _nearest(slices, lesions[row])
        yield _case(name, group, stack, k, evidence=f"{flags.name}[{row}, {k}]")
        rest = tuple(stack[at] for at in sorted(stack) if at != k)
        if rest:
            yield Skip(key=f"{name} others", reason=f"one slice a patient: number {k}", paths=rest)


def _rows(index: Path) -> dict[str, int | str]:
    """Return each patient's row in the arrays: the index row, as its first column is wrong."""
    rows: dict[str, int | str] = {}
    table = read_csv(index, columns=("Folder/ID",))
    for number, (name, row) in enumerate(zip(_ROWS, table, strict=False)):
        try:
            same = row["Folder/ID"] == name
            quoted = row.quote("Folder/ID", _ROWS)
            fault = f"{quoted}: expected {name} here, since the arrays follow the rows"
            rows[name] = number if same else fault
        except RowError as error:
            rows[name] = str(error)
    return rows


def _marked_slices(name: str, stack: Mapping[int, Path], lesions: Sequence[int]) -> list[int]:
    """Return the labelled slices that this copy contains."""
    whole = len(stack) == max(stack) + 1
    slices = [k for k in lesions if k in stack]
    if not slices or (whole and max(lesions) > max(stack)):
        raise ReadError(
            f"{name}: {len(stack)} slices here, and {len(slices)} of the {len(lesions)} marked ones"
            "; expected them among the slices: get the whole scan",
            code="slice-order",
        )
    return slices


def _nearest(slices: Sequence[int], lesions: Collection[int]) -> int:
    """Return the slice nearest to the middle of the longest run of labelled ones."""
    run = longest_run(range(_SHAPE[1]), lesions.__contains__) or [0]
    return min(slices, key=lambda k: abs(2 * k - run[0] - run[-1]))


def _case(name: str, group: str, stack: Mapping[int, Path], k: int, *, evidence: str) -> Case:
    folder = f"folder {name}"
    evidence_values = ("Normal", folder) if group == "Normal" else ("1", evidence)
    values = (("infection", *evidence_values), ("disease", group, folder), ("cause", group, folder))
    return Case(
        key=name,
        images=(ImageRef(paths=(stack[k],), parts=(stack[0],) if k else ()),),
        patient=name,
        labels=tuple(Label(field=field, value=raw, evidence=place) for field, raw, place in values),
        series=tuple(stack[at] for at in sorted(stack)),
    )
