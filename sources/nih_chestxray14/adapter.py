"""NIH ChestX-ray14: one table row per image, findings mined from reports, boxes for 880 images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from medrcube.facts import Case, ImageRef, Label, Rectangle, Region, Skip
from medrcube.sources._formats.tables.contents import read_text
from medrcube.sources._formats.tables.rows import (
    cases_or_skip,
    check_no_finding,
    group_by_name,
    skip_if_unnamed,
)
from medrcube.sources._formats.tables.tables import (
    TableRow,
    find_optional_table,
    iter_csv,
    read_csv,
)
from medrcube.sources._framework.raw_tree.raw_tree import RawTree, newest_edition

_COLUMNS = ("Image Index", "Finding Labels", "Patient ID", "View Position")
_NONE = "No Finding"
# The header has commas within brackets, so `Bbox [x,y,w,h]` is split into four columns.
_BOX = ("Bbox [x", "y", "w", "h]")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per row of the label table."""
    del layout
    tables = root.part("table")
    table = newest_edition(tables)
    for other in sorted(set(tables) - {table}):
        reason = f"labels are read from {table.name} alone, the newest of {len(tables)} tables"
        yield Skip(key=other.name, reason=reason, code="other-table")
    films = root.stems("films")
    boxes, skips = _boxes(root)
    yield from skips
    splits = _split(root, "train_val") | _split(root, "test")
    for row in iter_csv(table, columns=_COLUMNS):
        if skip := skip_if_unnamed(row, "Image Index"):
            yield skip
            continue
        name = row["Image Index"]
        path = films.get(name.removesuffix(".png"), root.path / "images" / name)
        make = partial(_film, row, path, boxes.get(name, ()), splits.get(name))
        yield from cases_or_skip(make, key=name.removesuffix(".png"), paths=(path,))


def _film(
    row: TableRow, path: Path, boxes: Sequence[TableRow], split: str | None
) -> Iterator[Case]:
    name = row["Image Index"]
    findings, view = row.cite("Finding Labels"), row.cite("View Position")
    values = row["Finding Labels"].split("|")
    if _NONE in values:
        box_places = (box.cite("Finding Label") for box in boxes)
        check_no_finding(findings, [*(value for value in values if value != _NONE), *box_places])
    yield Case(
        key=name.removesuffix(".png"),
        images=(ImageRef(paths=(path,)),),
        patient=row.name("Patient ID").zfill(8),
        labels=(
            Label(field="view", value=row["View Position"], evidence=view),
            *(Label(field="finding", value=value, evidence=findings) for value in values),
        ),
        regions=tuple(map(_region, boxes)),
        split=split,
    )


def _boxes(root: RawTree) -> tuple[dict[str, list[TableRow]], list[Skip]]:
    """Return the box rows by file name, and skips for rows without one."""
    path = find_optional_table(root, "boxes")
    if path is None:
        return {}, []
    columns = ("Image Index", "Finding Label", *_BOX)
    rows = read_csv(path, columns=columns)
    return group_by_name(rows, "Image Index", opens=("finding",), about="Finding Label")


def _region(row: TableRow) -> Region:
    """Return the region of a box ``x, y, width, height``."""
    x, y, width, height = (row.number(column) for column in _BOX)
    shape = Rectangle(xyxy=(x, y, x + width, y + height))
    evidence = row.cite("Finding Label")
    return Region(field="finding", value=row["Finding Label"], shape=shape, evidence=evidence)


def _split(root: RawTree, split: str) -> dict[str, str]:
    lists = (path for path in root.part("splits") if path.name.startswith(f"{split}_list"))
    names = (read_text(path).split() for path in lists)
    return dict.fromkeys(chain.from_iterable(names), split)
