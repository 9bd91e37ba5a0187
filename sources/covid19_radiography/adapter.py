"""COVID-19 Radiography: the folder is the class; tables state the collection of each film."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from medrcube.errors import RowError, TableError
from medrcube.facts import Case, ImageRef, Skip
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name, skip_unusable_table
from medrcube.sources._formats.tables.spreadsheets import read_sheet
from medrcube.sources._formats.tables.tables import TableRow, natural_key
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_NAME = CARD.pattern("film", "label")
_LABELS = {"lung opacity": "Lung_Opacity", "viral pneumonia": "Viral Pneumonia"}
# Part of each collection's URL -> field whose classes it distinguishes.
_COLLECTIONS = {"rsna-pneumonia-detection": "film", "chest-xray-pneumonia": "pneumonia"}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per film; its collection determines which questions are possible."""
    del layout
    # The table of the class Normal has upper-case names.
    rows: dict[str, TableRow] = {}
    for table in root.part("collections"):
        try:
            sheet_rows = read_sheet(table, columns=("FILE NAME", "URL"))
        except TableError as error:
            yield skip_unusable_table(error)
            continue
        rows_of, skips = group_by_name(sheet_rows, "FILE NAME")
        rows |= {name.casefold(): own[-1] for name, own in rows_of.items()}
        yield from skips
    for path in sorted(root.part("films"), key=natural_key):
        name = _NAME.fullmatch(path.stem)
        if name is None:
            continue
        row = rows.get(path.stem.casefold())
        if row is None:
            reason = "no table of collections has a row for it, so where it comes from is not known"
            yield Skip(key=path.stem, reason=reason, paths=(path,))
            continue
        label = _LABELS.get(name["label"].replace("_", " ").casefold(), name["label"])
        yield from cases_or_skip(partial(_case, path, label, row), key=path.stem, paths=(path,))


def _case(path: Path, label: str, row: TableRow) -> Iterator[Case]:
    yield Case(
        key=path.stem,
        images=(ImageRef(paths=(path,)),),
        labels=(row.label("FILE NAME", field=_field(label, row), value=label),),
        facts=row.facts(provenance="URL"),
    )


def _field(label: str, row: TableRow) -> str:
    if label == "COVID":
        return "infection"
    for part, field in _COLLECTIONS.items():
        if part in row["URL"]:
            return field
    raise RowError(
        f"{row.quote('URL')}: expected the address of the RSNA challenge or of the Kermany films; "
        "the card assumes (unverified) that every film but those of COVID comes from these two"
    )
