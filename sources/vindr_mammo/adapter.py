"""VinDr-Mammo: one table row for every boxed finding, and one for a picture without any."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from medrcube.errors import RefusedError, RowError
from medrcube.records import Case, ImageRef, Label, Rectangle, Region, Skip, State
from medrcube.sources.dicom_headers import read_header
from medrcube.sources.fields import unsaved
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.rows import by_name, unless_bad
from medrcube.sources.tables import Row, find_table, read_csv

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
STATED = {
    "laterality": "ImageLaterality",
    "view_position": "ViewPosition",
    "height": "Rows",
    "width": "Columns",
}
"""Column of the table -> element of the header that says the same."""
NONE = "No Finding"
NEGATIVE, BENIGN = "BI-RADS 1", "BI-RADS 2"


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case for every picture, in the order of its first row."""
    del layout
    films = root.stems("**/*.dicom")
    rows_of_all = read_csv(find_table(root, TABLE), columns=COLUMNS)
    pictures, nameless = by_name(rows_of_all, "image_id")
    yield from nameless
    for image, rows in pictures.items():
        path = films.get(image, root.path / "images" / rows[0]["study_id"] / f"{image}.dicom")
        yield from unless_bad(partial(_picture, image, path, rows), key=image, paths=(path,))


def _picture(image: str, path: Path, rows: Sequence[Row]) -> Iterator[Case]:
    first = rows[0]
    yield Case(
        key=image,
        images=(ImageRef(paths=(path,)),),
        patient=first.name("study_id"),
        labels=(
            first.label("view_position", field="view"),
            first.label("breast_density", field="density"),
            *_grades(rows),
            *_findings(rows),
        ),
        regions=tuple(region for row in rows for region in _regions(row)),
        split=first["split"],
        facts=first.facts(**{name: name for name in STATED}),
    )


def frames(case: Case, volume: Any) -> list[int]:
    """The only one, as it was made for readers.

    Raises:
        RefusedError: code ``for-processing`` for the raw data of a detector,
            ``header-contradicts`` when the header states another view, side or size than the
            table.
    """
    del volume
    header = read_header(case.images[0].paths[0], ("PresentationIntentType", *STATED.values()))
    for name, told in dict(case.facts).items():
        said = header.get(STATED[name], "")
        if said and said != unsaved(told):
            raise RefusedError(
                f"{case.key}: {TABLE} states the {name} {told}, its header {said}; expected them "
                "to agree: is it the picture of this row, and of the size of the release?",
                code="header-contradicts",
            )
    if header.get("PresentationIntentType") == "FOR PROCESSING":
        raise RefusedError(
            f"{case.key}: is marked FOR PROCESSING, so it is no picture that a reader saw",
            code="for-processing",
        )
    return [0]


def _grades(rows: Sequence[Row]) -> Iterator[Label]:
    """Open where no finding that made the grade is boxed: it may be benign, or on another view.

    Benign findings are never boxed, so nothing shows a breast of BI-RADS 1 not to be of BI-RADS 2.
    """
    first, grade = rows[0], rows[0]["breast_birads"]
    shown = grade == NEGATIVE or grade in {row["finding_birads"] for row in rows}
    state = State.PRESENT if shown else State.UNKNOWN
    yield first.label("breast_birads", field="birads", state=state)
    if grade == NEGATIVE:
        yield first.label("breast_birads", field="birads", value=BENIGN, state=State.UNKNOWN)


def _findings(rows: Sequence[Row]) -> Iterator[Label]:
    """What is boxed; in a breast of BI-RADS 1 nothing is there, in others it may be unmarked."""
    normal = rows[0]["breast_birads"] == NEGATIVE
    for row in rows:
        for name in _categories(row):
            clear = name == NONE and not normal
            ungraded = name in LESIONS and not row["finding_birads"]
            state = State.UNKNOWN if clear or ungraded else State.PRESENT
            yield row.label("finding_categories", field=_field(name), value=name, state=state)
    if normal:
        for name in (*LESIONS, *SIGNS):
            yield rows[0].label("breast_birads", field=_field(name), value=name, state=State.ABSENT)


def _regions(row: Row) -> Iterator[Region]:
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


def _categories(row: Row) -> list[str]:
    """The names in a cell such as ``['Mass', 'Asymmetry']``."""
    try:
        names = ast.literal_eval(row["finding_categories"])
    except (ValueError, SyntaxError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RowError(f"{row.cite('finding_categories')}: expected a list of names")
    return names


def _field(name: str) -> str:
    return "sign" if name in SIGNS else "lesion"
