"""BUS-BRA: one table row and one mask for each half of a split screen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import Case, ImageRef, Label, LabelState, MaskFile, Region, Skip
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name, skip_if_unnamed
from medrcube.sources._formats.tables.tables import (
    TableRow,
    find_optional_table,
    find_table,
    read_csv,
)
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

COLUMNS = ("ID", "Case", "Histology", "Pathology", "BIRADS", "Device")
CARD = own_card(__file__)
STRAY = CARD.names("stray_masks")
CANCERS = CARD.names("cancers")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per row; BI-RADS is unknown if the halves of a case differ."""
    del layout
    pictures, masks = root.index("pictures"), root.index("masks")
    rows = read_csv(find_table(root, "table"), columns=COLUMNS)
    folds: dict[str, TableRow] = {}
    if (listed := find_optional_table(root, "folds")) is not None:
        rows_of, skips = group_by_name(read_csv(listed, columns=("ID", "kFold")), "ID")
        folds = {name: own[-1] for name, own in rows_of.items()}
        yield from skips
    masked = bool(masks)
    graded: dict[str, set[str]] = {}
    for row in rows:
        for case in _groups(row):
            graded.setdefault(case, set()).add(_cell(row, "BIRADS"))
    for row in rows:
        if skip := skip_if_unnamed(row, "ID"):
            yield skip
            continue
        key, mask = row["ID"], f"{row['ID'].replace('bus_', 'mask_', 1)}.png"
        image = pictures.get(f"{key}.png", root / "Images" / f"{key}.png")
        paths = (image, masks.get(mask, root / "Masks" / mask))
        agreed = len(set().union(*(graded[group] for group in _groups(row)))) == 1
        outlined = masked and key not in STRAY
        make = partial(_case, row, *paths, agreed=agreed, outlined=outlined, fold=folds.get(key))
        yield from cases_or_skip(make, key=key, paths=paths)


def _case(
    row: TableRow, image: Path, mask: Path, *, agreed: bool, outlined: bool, fold: TableRow | None
) -> Iterator[Case]:
    key = row["ID"]
    shape = MaskFile(paths=(mask,))
    lesion = Region(field="lesion", value="lesion", shape=shape, evidence=mask.name)
    yield Case(
        key=key,
        images=(ImageRef(paths=(image,)),),
        patient=row.name("Case"),
        unit=row.name("Case"),
        labels=_labels(row, agreed=agreed),
        regions=(lesion,) if outlined else (),
        split=None if fold is None else f"fold {fold['kFold']}",
        facts=row.facts(device="Device"),
    )


def _groups(row: TableRow) -> list[str]:
    """Return the case and the screen of a row, as far as known; the two halves share both.

    The names of the halves differ only in the side at their end.
    """
    return [name for name in (_cell(row, "Case"), _cell(row, "ID").rpartition("-")[0]) if name]


def _cell(row: TableRow, column: str) -> str:
    """Return a cell, or empty if it is not text, for which its own case is excluded."""
    try:
        return row[column]
    except RowError:
        return ""


def _labels(row: TableRow, *, agreed: bool) -> tuple[Label, ...]:
    doubted = row["Histology"] in CANCERS and row["Pathology"] == "benign"
    proven = LabelState.UNKNOWN if doubted else LabelState.PRESENT
    return (
        Label(field="lesion", value="lesion", evidence=row.cite("ID")),
        row.label("Pathology", field="pathology", state=proven),
        row.label("Histology", field="histology", state=proven),
        row.label(
            "BIRADS", field="birads", state=LabelState.PRESENT if agreed else LabelState.UNKNOWN
        ),
    )
