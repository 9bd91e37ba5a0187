"""BUS-BRA: one table row and one mask for every half of a split screen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from medrcube.records import Case, ImageRef, Label, MaskFile, Region, Skip, State
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.rows import nameless, unless_bad
from medrcube.sources.tables import Row, find_table, read_csv, seek_table

COLUMNS = ("ID", "Case", "Histology", "Pathology", "BIRADS", "Device")
STRAY = ("bus_0101-l", "bus_0185-r", "bus_1046-l")
"""Masks with one or two pixels far from the lesion, which would widen its box."""


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case for every row; BI-RADS stays open where the halves of a case differ."""
    del layout
    pictures, masks = root.index("pictures"), root.index("masks")
    rows = read_csv(find_table(root, "table"), columns=COLUMNS)
    folds = {}
    if (listed := seek_table(root, "folds")) is not None:
        table = read_csv(listed, columns=("ID", "kFold"))
        folds = {row["ID"]: f"fold {row['kFold']}" for row in table}
    masked = bool(masks)
    graded: dict[str, set[str]] = {}
    for row in rows:
        for case in (row["Case"], _screen(row)):
            graded.setdefault(case, set()).add(row["BIRADS"])
    for row in rows:
        if not row["ID"]:
            yield nameless(row, "ID")
            continue
        key, mask = row["ID"], f"{row['ID'].replace('bus_', 'mask_', 1)}.png"
        image = pictures.get(f"{key}.png", root / "Images" / f"{key}.png")
        paths = (image, masks.get(mask, root / "Masks" / mask))
        agreed = len(graded[row["Case"]] | graded[_screen(row)]) == 1
        outlined = masked and key not in STRAY
        make = partial(_case, row, *paths, agreed=agreed, outlined=outlined, split=folds.get(key))
        yield from unless_bad(make, key=key, paths=paths)


def _case(
    row: Row, image: Path, mask: Path, *, agreed: bool, outlined: bool, split: str | None
) -> Iterator[Case]:
    key = row["ID"]
    shape = MaskFile(paths=(mask,))
    lesion = Region(field="lesion", value="lesion", shape=shape, evidence=mask.name)
    yield Case(
        key=key,
        images=(ImageRef(paths=(image,)),),
        patient=row.name("Case"),
        labels=_labels(row, agreed=agreed),
        regions=(lesion,) if outlined else (),
        split=split,
        facts=row.facts(device="Device"),
    )


def _screen(row: Row) -> str:
    """The halves of one screen share the name before their side."""
    return row["ID"].rpartition("-")[0]


def _labels(row: Row, *, agreed: bool) -> tuple[Label, ...]:
    return (
        Label(field="lesion", value="lesion", evidence=row.cite("ID")),
        row.label("Pathology", field="pathology"),
        row.label("Histology", field="histology"),
        row.label("BIRADS", field="birads", state=State.PRESENT if agreed else State.UNKNOWN),
    )
