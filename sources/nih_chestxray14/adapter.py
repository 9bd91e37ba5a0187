"""NIH ChestX-ray14: one table row per picture, findings mined from reports, boxes for 880."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from medrcube.records import Case, ImageRef, Label, Rectangle, Region
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.tables import Row, read_csv

# Globs of the label table (the last name in order is the newest) and of the picture folders.
_LAYOUTS = {
    "official": ("Data_Entry_2017*.csv", "images"),
    "kaggle": ("Data_Entry_2017*.csv", "images_*/images"),
    "sample": ("sample/sample_labels.csv", "sample/images"),
}
_COLUMNS = ("Image Index", "Finding Labels", "Patient ID", "View Position")
# The header holds commas inside its brackets, so `Bbox [x,y,w,h]` names four columns.
_BOX = ("Bbox [x", "y", "w", "h]")


def cases(root: RawTree, layout: str) -> Iterator[Case]:
    """Yield one case for every row of the label table."""
    tables, folders = _LAYOUTS[layout]
    table = max(root.glob(tables), default=root / "Data_Entry_2017.csv")
    found = {path.name: path for path in root.glob(f"{folders}/*.png")}
    boxes = _boxes(root / "BBox_List_2017.csv")
    splits = _split(root, "train_val") | _split(root, "test")
    for row in read_csv(table, columns=_COLUMNS):
        name = row["Image Index"]
        findings, view = row.cite("Finding Labels"), row.cite("View Position")
        yield Case(
            key=name.removesuffix(".png"),
            images=(ImageRef(paths=(found.get(name, root / "images" / name),)),),
            patient=row["Patient ID"].zfill(8),
            labels=(
                Label(field="view", value=row["View Position"], evidence=view),
                *(
                    Label(field="finding", value=value, evidence=findings)
                    for value in row["Finding Labels"].split("|")
                ),
            ),
            regions=tuple(boxes.get(name, ())),
            split=splits.get(name),
        )


def _boxes(path: Path) -> dict[str, list[Region]]:
    """Boxes by file name; in the 1024 x 1024 frame of the release, as ``x, y, width, height``."""
    boxes: dict[str, list[Region]] = {}
    if path.exists():
        for row in read_csv(path, columns=("Image Index", "Finding Label", *_BOX)):
            boxes.setdefault(row["Image Index"], []).append(_region(row))
    return boxes


def _region(row: Row) -> Region:
    x, y, width, height = (float(row[column]) for column in _BOX)
    shape = Rectangle(xyxy=(x, y, x + width, y + height), frame=(1024, 1024))
    evidence = row.cite("Finding Label")
    return Region(field="finding", value=row["Finding Label"], shape=shape, evidence=evidence)


def _split(root: RawTree, split: str) -> dict[str, str]:
    path = root / f"{split}_list.txt"
    return dict.fromkeys(path.read_text("ascii").split(), split) if path.exists() else {}
