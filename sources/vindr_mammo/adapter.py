"""VinDr-Mammo: one table row per boxed finding, and one per image without findings."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from medrcube.errors import RefusedError, RowError
from medrcube.facts import Case, ImageRef, Label, LabelState, Rectangle, Region, Skip
from medrcube.regions import is_resized
from medrcube.sources._formats.dicom.headers import read_header
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.card_parts.fields import strip_float_suffix
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

TABLE = "finding_annotations"
CORNERS = ("xmin", "ymin", "xmax", "ymax")
COLUMNS = (
    *("study_id", "image_id", "view_position", "height", "width", "breast_birads"),
    *("breast_density", "finding_categories", "finding_birads", *CORNERS, "split"),
)
SIGNS = ("Skin Thickening", "Skin Retraction", "Nipple Retraction", "Suspicious Lymph Node")
LESIONS = (
    *("Mass", "Suspicious Calcification", "Asymmetry", "Focal Asymmetry", "Global Asymmetry"),
    "Architectural Distortion",
)
STATED = {"laterality": "ImageLaterality", "view_position": "ViewPosition"}
"""Table column -> DICOM element with the same meaning."""
SIZE = {"width": "Columns", "height": "Rows"}
"""The same for the size, which differs in resized copies."""
NONE = "No Finding"
NEGATIVE, BENIGN = "BI-RADS 1", "BI-RADS 2"


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per image, in the order of its first row."""
    del layout
    films = root.stems("films")
    rows_of_all = read_csv(find_table(root, "table"), columns=COLUMNS)
    pictures, nameless = group_by_name(rows_of_all, "image_id", opens=("lesion", "sign"))
    yield from nameless
    grades: dict[str, set[str]] = {}
    for row in rows_of_all:
        grades.setdefault(_breast(row), set()).add(_cell(row, "breast_birads"))
    for image, rows in pictures.items():
        path = films.get(image) or _place(root, image, rows[0])
        agreed = all(len(grades[_breast(row)]) == 1 for row in rows)
        make = partial(_picture, image, path, rows, agreed=agreed)
        yield from cases_or_skip(make, key=image, paths=(path,))


def _place(root: RawTree, image: str, row: TableRow) -> Path:
    """Return the expected path of an image, even if this copy lacks it."""
    try:
        return root.path / "images" / row["study_id"] / f"{image}.dicom"
    except RowError:
        return root.path / "images" / f"{image}.dicom"


def _breast(row: TableRow) -> str:
    return f"{_cell(row, 'study_id')}/{_cell(row, 'laterality') or _cell(row, 'image_id')}"


def _cell(row: TableRow, column: str) -> str:
    """Return a cell; empty if there is none or it is not text."""
    try:
        return row.get(column) or ""
    except RowError:
        return ""


def _picture(image: str, path: Path, rows: Sequence[TableRow], *, agreed: bool) -> Iterator[Case]:
    first = rows[0]
    yield Case(
        key=image,
        images=(ImageRef(paths=(path,)),),
        patient=first.name("study_id"),
        unit=_breast(first),
        labels=(
            first.label("view_position", field="view"),
            first.label("breast_density", field="density"),
            *_grades(rows),
            *_findings(rows, normal=agreed and first["breast_birads"] == NEGATIVE),
        ),
        regions=tuple(region for row in rows for region in _regions(row)),
        split=first["split"],
        facts=first.facts(**{name: name for name in (*STATED, *SIZE)}),
    )


def frames(case: Case, volume: Any) -> list[int]:
    """Return the only frame, which must be processed for presentation.

    Raises:
        RefusedError: code ``for-processing`` for raw detector data, ``header-contradicts`` if the
            header states another view or side than the table, or a size that is not a scaled
            version of that in the table.
    """
    del volume
    elements = (*STATED.values(), *SIZE.values())
    header = read_header(case.images[0].paths[0], ("PresentationIntentType", *elements))
    facts = dict(case.facts)
    contradicted = [
        (name, facts[name], header[element])
        for name, element in STATED.items()
        if name in facts and header.get(element, facts[name]) != strip_float_suffix(facts[name])
    ]
    table_size, header_size = _size(facts, SIZE.keys()), _size(header, SIZE.values())
    if (
        table_size
        and header_size
        and table_size != header_size
        and not is_resized(table_size, header_size)
    ):
        contradicted.append(
            ("size", f"{table_size[0]} x {table_size[1]}", f"{header_size[0]} x {header_size[1]}")
        )
    for name, ours, theirs in contradicted:
        raise RefusedError(
            f"{case.key}: {TABLE} states the {name} {ours}, its header {theirs}; expected them "
            "to agree: is it the picture of this row, and neither cropped nor stretched?",
            code="header-contradicts",
        )
    if header.get("PresentationIntentType") == "FOR PROCESSING":
        raise RefusedError(
            f"{case.key}: is marked FOR PROCESSING, so it is not an image that a reader saw",
            code="for-processing",
        )
    return [0]


def _size(values: Mapping[str, str], names: Iterable[str]) -> tuple[int, int] | None:
    """Return width and height from two names, if both are whole numbers."""
    sides = [strip_float_suffix(values.get(name, "")) for name in names]
    if not all(side.isdecimal() for side in sides):
        return None
    width, height = map(int, sides)
    return width, height


def _grades(rows: Sequence[TableRow]) -> Iterator[Label]:
    """Yield the grades; unknown if no box accounts for them (benign, or on another view).

    Benign findings are never boxed, so BI-RADS 2 cannot be excluded for a breast of BI-RADS 1.
    """
    first, grade = rows[0], rows[0]["breast_birads"]
    boxed = grade == NEGATIVE or grade in {row["finding_birads"] for row in rows}
    state = LabelState.PRESENT if boxed else LabelState.UNKNOWN
    yield first.label("breast_birads", field="birads", state=state)
    if grade == NEGATIVE:
        yield first.label("breast_birads", field="birads", value=BENIGN, state=LabelState.UNKNOWN)


def _findings(rows: Sequence[TableRow], *, normal: bool) -> Iterator[Label]:
    """Yield boxed findings, ungraded lesions as unknown; in BI-RADS 1 all findings are absent.

    The category is that of the breast, so no finding is absent if its views state several.
    """
    for row in rows:
        for name in _categories(row):
            clear = name == NONE and not normal
            ungraded = name in LESIONS and not row["finding_birads"]
            state = LabelState.UNKNOWN if clear or ungraded else LabelState.PRESENT
            yield row.label("finding_categories", field=_field(name), value=name, state=state)
    if normal:
        for name in (*LESIONS, *SIGNS):
            yield rows[0].label(
                "breast_birads", field=_field(name), value=name, state=LabelState.ABSENT
            )


def _regions(row: TableRow) -> Iterator[Region]:
    if _categories(row) == [NONE]:
        return
    width, height = row.integer("width"), row.integer("height")
    x0, y0, x1, y1 = (row.number(corner) for corner in CORNERS)
    box = (max(x0, 0.0), max(y0, 0.0), min(x1, float(width)), min(y1, float(height)))
    for name in _categories(row):
        yield Region(
            field=_field(name),
            value=name,
            shape=Rectangle(xyxy=box, frame=(width, height)),
            evidence=row.cite("finding_categories"),
        )


def _categories(row: TableRow) -> list[str]:
    """Parse the names in a cell such as ``['Mass', 'Asymmetry']``."""
    try:
        names = ast.literal_eval(row["finding_categories"])
    except (ValueError, SyntaxError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RowError(
            f"{row.quote('finding_categories', (*LESIONS, *SIGNS))}: expected a list of names"
        )
    return names


def _field(name: str) -> str:
    return "sign" if name in SIGNS else "lesion"
