"""VinDr-CXR: three independent readings per training image, a consensus per test image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, Rectangle, Region, Skip
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._formats.tables.rows import group_by_name
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

Box = tuple[float, float, float, float]

CARD = own_card(__file__)
OVERLAP = CARD.number("least_overlap_iou")
_PANEL = {split: CARD.integer(f"readings_{split}") for split in ("train", "test")}
_FIELDS = ("finding", "disease")
_IDS = ("image_id", "rad_id")
_CORNERS = ("x_min", "y_min", "x_max", "y_max")
_NONE, _OTHER_LESION = "No finding", "Other lesion"
_DISEASES = ("COPD", "Lung tumor", "Pneumonia", "Tuberculosis")
_OTHER_DISEASES = ("Other diseases", "Other disease")
_COMMON = (
    *("Aortic enlargement", "Atelectasis", "Calcification", "Cardiomegaly", "Consolidation"),
    *("ILD", "Infiltration", "Lung Opacity", "Nodule/Mass", _OTHER_LESION, "Pleural effusion"),
    *("Pleural thickening", "Pneumothorax", "Pulmonary fibrosis", _NONE),
)
# The Kaggle edition merges these into `Other lesion` and omits the diseases.
_RARE = (
    *("Clavicle fracture", "Edema", "Emphysema", "Enlarged PA", "Lung cavity", "Lung cyst"),
    *("Mediastinal shift", "Rib fracture"),
)

# Readers use these terms interchangeably: if one is true, none of the others is surely false.
_OPACITIES = (
    *("Consolidation", "ILD", "Infiltration", "Lung Opacity", "Nodule/Mass"),
    "Pulmonary fibrosis",
)


@dataclass(slots=True)
class _Reading:
    """Readings of one image."""

    readers: set[str] = field(default_factory=set)
    box_readers: dict[str, set[str]] = field(default_factory=dict)
    boxes: dict[str, list[tuple[str, Box]]] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    table: str = ""
    problem: str = ""


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per image in a label table."""
    files, films = root.index("tables"), root.stems("films")
    if layout == "kaggle":
        columns = ("image_id", "rad_id", "class_name", *_CORNERS)
        rows = read_csv(find_table(root, "tables"), columns=columns)
        recorded = dict.fromkeys(_COMMON, True) | dict.fromkeys((*_RARE, *_DISEASES), False)
        rows_of, nameless = group_by_name(rows, "image_id", opens=_FIELDS)
        yield from nameless
        yield from _cases(root, "train", films, _kaggle(rows_of), recorded)
        return
    for split in _PANEL:
        table, box_table = (
            files.get(f"{prefix}_{split}.csv") for prefix in ("image_labels", "annotations")
        )
        if table is None:
            continue  # a copy may contain only one split
        rows = read_csv(table, columns=("image_id", *_COMMON, *_RARE, *_DISEASES))
        recorded = {name: True for name in next(iter(rows), ()) if name not in _IDS}
        labels, nameless = group_by_name(rows, "image_id", opens=_FIELDS)
        rows = (
            read_csv(box_table, columns=("image_id", "class_name", *_CORNERS)) if box_table else []
        )
        boxes, more = group_by_name(rows, "image_id", opens=_FIELDS)
        yield from (*nameless, *more)
        yield from _cases(root, split, films, _physionet(labels, boxes, recorded), recorded)


def agreed_boxes(boxes: Iterable[tuple[str, Box]], needed: int) -> list[Box]:
    """Merge the boxes of one class that different readers drew around the same location.

    A box joins the first group in which it overlaps every box by ``OVERLAP`` and which has no
    other box of its reader. A group of at least ``needed`` readers becomes the mean of its boxes.
    A smaller group is a location that may or may not show the class: then no box is returned at
    all, because a distractor box might be drawn there.

    Args:
        boxes: reader and box ``(x0, y0, x1, y1)``, in any order.
        needed: number of readers who must agree.
    """
    groups: list[list[tuple[str, Box]]] = []
    for reader, box in sorted(boxes):
        fitting = (
            group
            for group in groups
            if all(reader != other and _overlap(box, member) >= OVERLAP for other, member in group)
        )
        group = next(fitting, None)
        if group is None:
            groups.append([(reader, box)])
        else:
            group.append((reader, box))
    if any(len(group) < needed for group in groups):
        return []
    return [_mean([box for _, box in group]) for group in groups]


def _physionet(
    labels: Mapping[str, Sequence[TableRow]],
    boxes: Mapping[str, Sequence[TableRow]],
    recorded: Iterable[str],
) -> dict[str, _Reading]:
    readings: dict[str, _Reading] = {}
    meanings = {name: name for name in (*recorded, *_OTHER_DISEASES)}
    for image in dict.fromkeys((*labels, *boxes)):
        rows, box_rows = labels.get(image, ()), boxes.get(image, ())
        readings[image] = reading = _Reading(table=(*rows, *box_rows)[0].table)
        try:
            for row in rows:
                _add_labels(reading, row, recorded)
            for row in box_rows:
                row.meaning("class_name", meanings)
                _check_reader(reading, row)
                _add_box(reading, row)
        except RowError as error:
            reading.problem = str(error)
    return readings


def _check_reader(reading: _Reading, row: TableRow) -> None:
    """Check that a row does not belong to a fourth reader.

    Raises:
        RowError: it does.
    """
    if len(reading.readers) == _PANEL["train"] and row["rad_id"] not in reading.readers:
        readers = ", ".join(redact_cell(reader) for reader in sorted(reading.readers))
        raise RowError(
            f"{row.quote('rad_id')}: expected one of the readers of this film ({readers})"
        )


def _add_labels(reading: _Reading, row: TableRow, recorded: Iterable[str]) -> None:
    reader = row.name("rad_id") if "rad_id" in row else "consensus"
    reading.readers.add(reader)
    reading.lines.append(row.line)
    for name in recorded:
        if row.state(name, {"1": LabelState.PRESENT, "0": LabelState.ABSENT}) is LabelState.PRESENT:
            reading.box_readers.setdefault(name, set()).add(reader)


def _kaggle(pictures: Mapping[str, Sequence[TableRow]]) -> dict[str, _Reading]:
    readings: dict[str, _Reading] = {}
    for image, rows in pictures.items():
        readings[image] = reading = _Reading(table=rows[0].table)
        try:
            for row in rows:
                _check_reader(reading, row)
                reading.readers.add(row.name("rad_id"))
                reading.lines.append(row.line)
                reading.box_readers.setdefault(row.name("class_name"), set()).add(row["rad_id"])
                _add_box(reading, row)
        except RowError as error:
            reading.problem = str(error)
    return readings


def _add_box(reading: _Reading, row: TableRow) -> None:
    if row["class_name"] != _NONE:
        try:
            x0, y0, x1, y1 = (row.number(corner) for corner in _CORNERS)
        except RowError as error:
            raise RowError(f"{row.quote('class_name', (*_COMMON, *_RARE))}, {error}") from None
        reader = row.name("rad_id") if "rad_id" in row else "consensus"
        reading.boxes.setdefault(row["class_name"], []).append((reader, (x0, y0, x1, y1)))
        reading.box_readers.setdefault(row["class_name"], set()).add(reader)


def _cases(
    root: RawTree,
    split: str,
    films: Mapping[str, Path],
    readings: dict[str, _Reading],
    recorded: dict[str, bool],
) -> Iterator[Case | Skip]:
    """Yield a case per reading; ``recorded`` states which labels the tables contain."""
    for image, reading in readings.items():
        path = films.get(image, root.path / split / f"{image}.dicom")
        if reading.problem:
            yield Skip(key=image, reason=reading.problem, paths=(path,), code=BAD_ROW)
            continue
        if short := _short(reading, split):
            yield Skip(key=image, reason=short, paths=(path,), code=BAD_ROW)
            continue
        states = {
            name: _state(reading, name, split) if recorded.get(name, True) else LabelState.UNKNOWN
            for name in dict.fromkeys((*recorded, *reading.box_readers))
        }
        if states[_OTHER_LESION] is LabelState.ABSENT:
            # Labels merged into one that no reader gave were given by none.
            folded = (name for name in _RARE if not recorded.get(name, True))
            states |= dict.fromkeys(folded, LabelState.ABSENT)
        if LabelState.PRESENT in {states[name] for name in _OPACITIES}:
            doubtful = (name for name in _OPACITIES if states[name] is LabelState.ABSENT)
            states |= dict.fromkeys(doubtful, LabelState.UNKNOWN)
        yield Case(
            key=image,
            images=(ImageRef(paths=(path,)),),
            patient=image,
            labels=tuple(_label(reading, name, state) for name, state in states.items()),
            regions=tuple(_regions(reading, states, split)),
            split=split,
        )


def _short(reading: _Reading, split: str) -> str:
    """Return which part of the panel the tables contain if incomplete; else empty.

    The other readers' marks are unknown, so neither silence nor a single reader's mark is a label.
    """
    panel = _PANEL[split]
    if len(reading.readers) >= panel:
        return ""
    lines = ",".join(map(str, reading.lines)) or "no line"
    return (
        f"{reading.table}:{lines}: {len(reading.readers)} of {panel} reading(s) of this film are "
        "there, and what the others marked is unknown; get the label table whole"
    )


def _state(reading: _Reading, name: str, split: str) -> LabelState:
    """Return present if two of three readers agree (`No finding`: three), absent if none does."""
    panel, votes = _PANEL[split], len(reading.box_readers.get(name, ()))
    if votes >= (panel if name == _NONE else min(panel, 2)):
        return LabelState.PRESENT
    return LabelState.UNKNOWN if votes else LabelState.ABSENT


def _label(reading: _Reading, name: str, state: LabelState) -> Label:
    votes, readers = len(reading.box_readers.get(name, ())), len(reading.readers)
    lines = ",".join(map(str, reading.lines))
    return Label(
        field="disease" if name in (*_DISEASES, *_OTHER_DISEASES) else "finding",
        value=name,
        state=state,
        evidence=f"{reading.table}:{lines} {name} marked by {votes} of {readers}",
    )


def _regions(reading: _Reading, states: dict[str, LabelState], split: str) -> Iterator[Region]:
    """Yield agreed boxes of present findings that all readers who marked them also boxed."""
    for name, boxes in reading.boxes.items():
        drew = {reader for reader, _ in boxes}
        if (
            states[name] is LabelState.PRESENT
            and name != _OTHER_LESION
            and reading.box_readers[name] <= drew
        ):
            evidence = f"boxes of {name} by {', '.join(sorted(drew))}"
            for box in agreed_boxes(boxes, min(_PANEL[split], 2)):
                shape = Rectangle(xyxy=box)
                yield Region(field="finding", value=name, shape=shape, evidence=evidence)


def _overlap(a: Box, b: Box) -> float:
    """Return the intersection over union."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in (a, b))
    return width * height / (areas - width * height)


def _mean(boxes: Sequence[Box]) -> Box:
    x0, y0, x1, y1 = (sum(corner) / len(boxes) for corner in zip(*boxes, strict=True))
    return (x0, y0, x1, y1)
