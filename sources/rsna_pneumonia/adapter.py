"""RSNA pneumonia: one class per film, boxes around opacities, patients from the NIH mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medrcube.errors import ReadError, RowError, TableError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, Rectangle, Region, Skip
from medrcube.sources._formats.dicom.headers import read_header
from medrcube.sources._formats.tables.contents import read_json
from medrcube.sources._formats.tables.redaction import redact_cell, redact_exception
from medrcube.sources._formats.tables.rows import group_by_name
from medrcube.sources._formats.tables.tables import (
    TableRow,
    find_optional_table,
    find_table,
    read_csv,
)
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree, newest_edition

Box = tuple[float, float, float, float]

_OPACITY = "Lung Opacity"
_CLASSES = (_OPACITY, "Normal", "No Lung Opacity / Not Normal")
_WITH_HEADERS = ("kaggle", "mdai")
_FIELDS = ("film", "suspicion")
_BOX = ("x", "y", "width", "height")
_HEADER = ("ViewPosition", "PatientSex", "PatientAge")
_NAMES = ("subset_img_id", "SOPInstanceUID")
_ANNOTATIONS = "pneumonia-challenge-annotations-adjudicated-kaggle_2018.json"
_MAPPING = "pneumonia-challenge-dataset-mappings_2018.json"
CARD = own_card(__file__)
_WORKFLOW = CARD.pattern("workflow_mark")
_NIH_FILE = CARD.pattern("nih_file", "patient")
_OLDEST = CARD.integer("oldest_years")


@dataclass(slots=True)
class _Film:
    """Annotation of one film; ``problem`` states why it cannot be used."""

    label: str
    evidence: str
    boxes: list[Box] = field(default_factory=list)
    problem: str = ""
    code: str = "set-aside"
    opens: tuple[str, ...] = ()


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per film in the tables, in table order."""
    # A film of stage 2 takes precedence over one of the same name.
    files = {path.stem: path for path in root.part("films")}
    people, faults, lost = _people(root)
    yield from lost
    for name, film in _READERS[layout](root).items():
        path = files.get(name, root.path / name)
        header: dict[str, str] = {}
        if name in faults and not film.problem:
            film.problem, film.code = faults[name], BAD_ROW
        try:
            if layout in _WITH_HEADERS and name in files and not film.problem:
                header = dict(read_header(path, _HEADER))
        except ReadError as error:
            film.problem = str(error)
        if film.problem:
            # A row without a film name refers to no file.
            paths = (path,) if film.evidence else ()
            yield Skip(key=name, reason=film.problem, paths=paths, code=film.code, opens=film.opens)
            continue
        yield Case(
            key=name,
            images=(ImageRef(paths=(path,)),),
            patient=people.get(name),
            labels=tuple(_labels(film, header)),
            regions=tuple(
                Region(
                    field="film",
                    value=_OPACITY,
                    shape=Rectangle(xyxy=(x, y, x + width, y + height)),
                    evidence=film.evidence,
                )
                for x, y, width, height in film.boxes
            ),
            split="train",
            facts=_facts(header),
        )


def _labels(film: _Film, header: dict[str, str]) -> Iterator[Label]:
    if "ViewPosition" in header:
        yield Label(field="view", value=header["ViewPosition"], evidence="ViewPosition")
    for name in ("film", "suspicion") if film.label else ():
        yield Label(field=name, value=film.label, evidence=film.evidence)
        if film.label not in (_OPACITY, "Normal"):
            state = LabelState.ABSENT
            yield Label(field=name, value=_OPACITY, state=state, evidence=film.evidence)


def _facts(header: dict[str, str]) -> tuple[tuple[str, str], ...]:
    sex, age = header.get("PatientSex", ""), header.get("PatientAge", "").rstrip("Y")
    plausible = age.isdecimal() and int(age) <= _OLDEST
    return ((("sex", sex),) if sex else ()) + ((("age", str(int(age))),) if plausible else ())


def _film_of_nobody(row: Skip) -> _Film:
    return _Film("", "", problem=row.reason, code=row.code, opens=row.opens)


def _from_tables(root: RawTree) -> dict[str, _Film]:
    """Read the two tables, each with one row per box: class of each film, and boxes.

    Without the class table, a film without a box may be normal or abnormal, so it has no class.
    """
    table = newest_edition(root.part("boxes"))  # the later stage
    class_table = _of_stage(root.part("classes"), table.name[: len("stage_N")])
    rows = read_csv(class_table, columns=("patientId", "class")) if class_table else []
    classes, nameless = group_by_name(rows, "patientId", opens=_FIELDS)
    boxes, more = group_by_name(
        read_csv(table, columns=("patientId", *_BOX, "Target")), "patientId", opens=_FIELDS
    )
    films = {skip.key: _film_of_nobody(skip) for skip in (*nameless, *more)}
    for name in dict.fromkeys((*classes, *boxes)):
        try:
            own = boxes.get(name, [])
            films[name] = _agreed(classes.get(name, []), own) if class_table else _boxed(own)
        except RowError as error:
            place = (*classes.get(name, ()), *boxes.get(name, ()))[0].place
            films[name] = _Film("", place, problem=str(error), code=BAD_ROW)
    return films


def _of_stage(tables: Sequence[Path], stage: str) -> Path | None:
    return next((path for path in tables if path.name.startswith(stage)), None)


def _agreed(classes: Sequence[TableRow], boxes: Sequence[TableRow]) -> _Film:
    """Return one film on which both tables agree.

    Raises:
        RowError: the tables disagree.
    """
    first = (*classes, *boxes)[0]
    if len(classes) != len(boxes):
        raise RowError(
            f"{first.place}: one table has {len(classes)} rows of this film, the other "
            f"{len(boxes)}; expected as many: are the tables of one stage?"
        )
    film = _Film(first.name("class"), first.cite("class"))
    for row, box in zip(classes, boxes, strict=True):
        if row["class"] != film.label:
            label = redact_cell(film.label, _CLASSES)
            raise RowError(
                f"{row.quote('class', _CLASSES)}: another row says {label!r} of this film"
            )
        has_opacity = box.meaning("Target", {"1": True, "0": False})
        if has_opacity != (film.label == _OPACITY):
            raise RowError(
                f"{box.quote('Target')} but {row.quote('class', _CLASSES)}: expected 1 exactly "
                f"for films of class {_OPACITY!r}; are the tables of one stage?"
            )
        film.boxes += [_box(box)] if has_opacity else []
    return film


def _boxed(boxes: Sequence[TableRow]) -> _Film:
    """Return one film from its boxes alone.

    Raises:
        RowError: one row states an opacity, and another states none.
    """
    targets = [box.meaning("Target", {"1": True, "0": False}) for box in boxes]
    if len(set(targets)) > 1:
        raise RowError(f"{boxes[0].quote('Target')}: another row of this film says otherwise")
    rectangles = [_box(box) for box in boxes] if targets[0] else []
    return _Film(_OPACITY if targets[0] else "", boxes[0].cite("Target"), rectangles)


def _from_metadata(root: RawTree) -> dict[str, _Film]:
    """Read the table of the PNG copy; its boxes are unverified and not used."""
    table = find_table(root, "table")
    rows, nameless = group_by_name(
        read_csv(table, columns=("patientId", "class")), "patientId", opens=_FIELDS
    )
    films = {skip.key: _film_of_nobody(skip) for skip in nameless}
    for name, (row, *_) in rows.items():
        try:
            films[name] = _Film(row["class"], row.cite("class"))
        except RowError as error:
            films[name] = _Film("", row.place, problem=str(error), code=BAD_ROW)
    return films


def _from_annotations(root: RawTree) -> dict[str, _Film]:
    """Read the annotation file: labels by image, or by study if they concern the whole film."""
    path = find_table(root, "annotations")
    marks: dict[str, list[tuple[str, Any]]] = {}
    try:
        data = read_json(path)
        names = {
            label["id"]: label["name"].strip()
            for group in data["labelGroups"]
            for label in group["labels"]
        }
        for mark in data["datasets"][0]["annotations"]:
            uid = mark.get("SOPInstanceUID") or mark["StudyInstanceUID"]
            marks.setdefault(uid, []).append((names[mark["labelId"]], mark.get("data")))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise TableError(
            path,
            f"expected labelGroups with labels, and datasets with annotations that "
            f"name one of them ({redact_exception(error)}); the card assumes this form of "
            "the MD.ai export (unverified)",
        ) from error
    # Folders are named after study and series, files after the image.
    return {
        file.stem: _film([*marks.get(file.stem, ()), *marks.get(file.parent.parent.name, ())])
        for file in root.part("films")
    }


def _film(marks: list[tuple[str, Any]]) -> _Film:
    findings = [(name, data) for name, data in marks if not _WORKFLOW.fullmatch(name)]
    # Opacities also occur as `Lung Opacity (High Prob)`, with Med or Low.
    labels = {_OPACITY if name.startswith(_OPACITY) else name for name, _ in findings}
    if len(labels) != 1 or not labels <= set(_CLASSES):
        # Not redacted: names of the export's own label set, which a shifted row cannot alter.
        reason = f"its annotations name {sorted(labels)}; expected one of the three classes"
        return _Film("", _ANNOTATIONS, problem=reason)
    try:
        boxes = [_json_box(data) for _, data in findings if data]
    except (KeyError, TypeError, ValueError):
        reason = f"{_ANNOTATIONS}: data: expected x, y, width and height, all numbers"
        return _Film("", _ANNOTATIONS, problem=reason, code=BAD_ROW)
    return _Film(labels.pop(), _ANNOTATIONS, boxes)


def _json_box(data: Any) -> Box:
    x, y, width, height = (float(data[name]) for name in _BOX)
    return (x, y, width, height)


def _box(row: TableRow) -> Box:
    x, y, width, height = (row.number(name) for name in _BOX)
    return (x, y, width, height)


def _people(root: RawTree) -> tuple[dict[str, str], dict[str, str], list[Skip]]:
    """Return the NIH patient of each film, under both names of a film.

    Returns:
        The patients; the error of each unusable entry; skips for entries without a film.
    """
    path = find_optional_table(root, "mapping")
    if path is None:
        return {}, {}, []
    return _mapped(path)


def _mapped(path: Path) -> tuple[dict[str, str], dict[str, str], list[Skip]]:
    people: dict[str, str] = {}
    faults: dict[str, str] = {}
    lost: list[Skip] = []
    entries = read_json(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise TableError(path, "expected a list of entries with names; get it again")
    for number, entry in enumerate(entries, 1):
        original = _NIH_FILE.fullmatch(str(entry.get("img_id", "")))
        names = [entry[name] for name in _NAMES if entry.get(name)]
        if original is not None:
            people.update(dict.fromkeys(names, original["patient"]))
            continue
        place = f"{_MAPPING}:entry {number}"
        reason = f"{place} img_id: names no NIH file; expected a name such as 00000001_000.png"
        faults.update(dict.fromkeys(names, reason))
        lost += [] if names else [Skip(key=place, reason=reason, code=BAD_ROW)]
    if entries and not people:
        raise TableError(
            path,
            f"no entry has an NIH file name; the card assumes (unverified) that "
            "it stands under 'img_id' (found: "
            f"{', '.join(redact_cell(name, ('img_id', *_NAMES)) for name in entries[0])})",
        )
    return people, faults, lost


_READERS: dict[str, Callable[[RawTree], dict[str, _Film]]] = {
    "kaggle": _from_tables,
    "mdai": _from_annotations,
    "jpg": _from_tables,
    "png": _from_metadata,
}
