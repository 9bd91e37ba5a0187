"""FETAL_PLANES_DB: the table gives the plane; the numbers in file names do not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from medrcube.facts import Case, ImageRef, Skip
from medrcube.sources._formats.tables.rows import cases_or_skip, skip_if_unnamed
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.taxonomy import Anatomy

TABLE = "FETAL_PLANES_DB_data.csv"
COLUMNS = ("Image_name", "Patient_num", "Plane", "Brain_plane", "US_Machine", "Train")
ANATOMY = {"Fetal brain": Anatomy("Brain"), "Fetal thorax": Anatomy("Chest")}
OUTSIDE = ("Fetal abdomen", "Fetal femur", "Maternal cervix", "Other")
SPLIT = {"1": "train", "0": "test"}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the rows in table order; planes outside the five anatomies are skipped."""
    del layout
    files = root.index("pictures")
    for row in read_csv(find_table(root, "table"), columns=COLUMNS):
        if skip := skip_if_unnamed(row, "Image_name"):
            yield skip
            continue
        key = row["Image_name"]
        path = files.get(f"{key}.png", root / "Images" / f"{key}.png")
        yield from cases_or_skip(partial(_case, row, path), key=key, paths=(path,))


def _case(row: TableRow, path: Path) -> Iterator[Case | Skip]:
    key = row["Image_name"]
    anatomy = row.meaning("Plane", {**ANATOMY, **dict.fromkeys(OUTSIDE)})
    if anatomy is None:
        reason = f"{row.quote('Plane', OUTSIDE)}: lies outside the five anatomies"
        yield Skip(key=key, reason=reason, paths=(path,))
        return
    yield Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        patient=row.name("Patient_num"),
        labels=(
            row.label("Plane", field="target"),
            row.label("Brain_plane", field="brain_plane"),
        ),
        split=row.meaning("Train", SPLIT),
        anatomy=anatomy,
        facts=row.facts(machine="US_Machine"),
    )
