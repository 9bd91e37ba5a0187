"""CQ500: a slice of each head CT exam, with three reads of the exam and BHX boxes on slices.

The reads are about whole exams: a finding of all readers is visible on some slice, a finding of
none on no slice, and a disputed one is unknown. Only a BHX box shows that a slice contains a bleed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path

from medrcube.errors import RowError, TableError
from medrcube.facts import Case, ImageRef, Label, LabelState, Skip
from medrcube.sources._formats.axial_stacks import (
    AxialStack,
    axial_stacks,
    skip_each_reason,
    skip_rest,
)
from medrcube.sources._formats.borrowed_levels import drawn_slice
from medrcube.sources._formats.folders import group_by_folder
from medrcube.sources._formats.runs import middle_of_longest_run
from medrcube.sources._formats.several_readers import agreed_states
from medrcube.sources._formats.tables.boxes import CORNER, box_regions
from medrcube.sources._formats.tables.rows import (
    cases_or_skip,
    group_by_name,
    group_optional_table,
)
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
EXAM, FOLDER = CARD.pattern("exam", "number"), CARD.pattern("folder", "number")
DISPLAY, PLAIN, ENHANCED, SHARP = map(CARD.pattern, ("shown", "plain", "enhanced", "sharp"))
LEAST, UNEVEN = CARD.integer("least_slices"), CARD.number("uneven_share")
HEAD = {name: CARD.numbers(f"head_{name}_mm", 2) for name in ("wide", "tall")}
LEVELS, SURE = CARD.numbers("bleed_levels", 10), CARD.integer("sure_exams")
BOXED = dict(zip(CARD.names("boxed"), CARD.names("bleeds"), strict=True))
BLEEDS, OTHERS = ("ICH", "ChronicBleed", *BOXED.values()), CARD.names("others")
READS = {name: [f"R{reader}:{name}" for reader in (1, 2, 3)] for name in (*BLEEDS, *OTHERS)}
STATES = {"1": LabelState.PRESENT, "0": LabelState.ABSENT}
Boxes = dict[str, list[TableRow]]


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield a case per exam in the reads, and another for a series with contrast medium.

    Raises:
        TableError: in several exams with bleeds, no box lies on any slice.
    """
    del layout
    columns = ("name", *chain(*READS.values()))
    rows, nameless = group_by_name(read_csv(find_table(root, "reads"), columns=columns), "name")
    columns = ("labelName", *CORNER)
    boxes, unnamed = group_optional_table(root, "boxes", "SOPInstanceUID", columns=columns)
    exams, stated, bleeding = group_by_folder(root, "slices", FOLDER), len(boxes or ()), 0
    yield from (*nameless, *unnamed)
    for name, members in rows.items():
        number = exam["number"] if (exam := EXAM.fullmatch(name)) else ""
        files = exams.pop(number, [])
        make = partial(_exam, root, number, members, files, boxes or {})
        with suppress(RowError):  # its exam is excluded below
            bleeding += bool(files) and all(members[0][column] == "1" for column in READS["ICH"])
        yield from cases_or_skip(make, key=name, paths=tuple(files))
    for number, paths in exams.items():
        yield from skip_each_reason(number, dict.fromkeys(paths, "the reads have no such exam"))
    if boxes and bleeding >= SURE and len(boxes) == stated:
        what = "none of its slices is in this copy; expected SOPInstanceUID to be that of the files"
        raise TableError(root.part("boxes")[0], f"{what}, as public code takes it")


def _exam(
    root: RawTree, number: str, rows: list[TableRow], files: list[Path], boxes: Boxes
) -> Iterator[Case | Skip]:
    if not number or len(rows) > 1:
        raise RowError(f"{rows[-1].quote('name')}: expected one row for each exam CQ500-CT-<n>")
    key, read = f"CQ500CT{number}", agreed_states(rows[0], READS, STATES)
    if not files:
        yield Case(key=key, images=(ImageRef(paths=(root / f"{key} {key}",)),))
        return
    stacks, others = axial_stacks(files, least=LEAST, uneven=UNEVEN, without=SHARP, **HEAD)
    exam_boxes = {uid: boxes.pop(uid) for s in stacks for uid in s.slices if uid in boxes}
    for suffix, pattern in (("", DISPLAY), ("-contrast", ENHANCED)):
        if not (fit := [s for s in stacks if pattern.fullmatch(s.description)]):
            continue
        stacks.remove(stack := max(fit, key=partial(_worth, exam_boxes)))
        marks = [[] if suffix else exam_boxes.get(uid, []) for uid in stack.slices]
        at = _slice(key, marks, read)
        labels = () if suffix else _findings(rows[0], read, marks[at])
        yield Case(
            key=key + suffix,
            images=(stack.image(at),),
            series=stack.paths,
            patient=stack.study or None,
            labels=(*stack.described("contrast", {"plain": PLAIN, "enhanced": ENHANCED}), *labels),
            regions=box_regions(marks[at], "labelName", BOXED, field="bleed"),
        )
    yield from skip_rest(key, others, stacks)


def _worth(boxes: Boxes, stack: AxialStack) -> tuple[int, bool, int, str]:
    """Sort key of stacks: those with boxes first, then those named "plain", then thick slices."""
    boxed = sum(uid in boxes for uid in stack.slices)
    return boxed, bool(PLAIN.fullmatch(stack.description)), -len(stack.slices), stack.series


def _slice(key: str, marks: list[list[TableRow]], read: dict[str, LabelState]) -> int:
    """Return the middle of the longest run with the rarest bleed that readers and boxes agree on.

    For an exam without a bleed, return a slice at a level at which others bleed.
    """
    if all(read[name] is LabelState.ABSENT for name in BLEEDS):
        return drawn_slice(key, len(marks), LEVELS)
    for kind in (kind for kind in BOXED if read[BOXED[kind]] is LabelState.PRESENT):
        if any(boxed := [any(mark["labelName"] == kind for mark in each) for each in marks]):
            return middle_of_longest_run(boxed)
    return len(marks) // 2


def _findings(row: TableRow, read: dict[str, LabelState], marks: list[TableRow]) -> Iterator[Label]:
    """Yield the labels of a slice; an old bleed may be of any kind that the readers deny."""
    old = read["ChronicBleed"] is not LabelState.ABSENT
    for name in (*BOXED.values(), *OTHERS):
        doubted = old and name in BLEEDS and read[name] is LabelState.ABSENT
        state = LabelState.UNKNOWN if doubted else read[name]
        yield Label(field="votes", value=name, state=state, evidence=f"{row.place} R1-3:{name}")
    if all(read[name] is LabelState.ABSENT for name in BLEEDS):
        yield row.label("R1:ICH", field="hemorrhage", value="none")
    for mark in marks:
        yield mark.label("labelName", field="bleed")
        if read.get(BOXED.get(mark["labelName"], "")) is LabelState.PRESENT:
            yield mark.label("labelName", field="hemorrhage", value="any")
