"""COVID-CT: the folder is the label; tables give the patient, split lists the split."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from medrcube.errors import RefusedError
from medrcube.facts import Case, ImageRef, Label, Skip
from medrcube.sources._formats.tables.contents import read_text
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name
from medrcube.sources._formats.tables.spreadsheets import read_sheet
from medrcube.sources._formats.tables.tables import (
    TableRow,
    find_optional_table,
    find_table,
    natural_key,
    read_csv,
)
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.globs import lower_extension
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
LEAST_SIDE, MOST_ASPECT = CARD.integer("least_side_px"), CARD.number("most_aspect_ratio")
_FOLDERS = {"CT_COVID": "CT_COVID", "CT_NonCOVID": "CT_NonCOVID", "CT_nonCOVID": "CT_NonCOVID"}
_KINDS = {".png", ".jpg"}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the images of both classes, by name."""
    del layout  # missing parts are empty
    rows, lost = _rows(root)
    yield from lost
    splits = _splits(root)
    folders: dict[Path, list[Path]] = {}
    for path in root.part("pictures"):
        if path.suffix.lower() in _KINDS and path.parent.name in _FOLDERS:
            folders.setdefault(path.parent, []).append(path)
    for folder in sorted(folders, key=lambda path: (_FOLDERS[path.name], path)):
        label = _FOLDERS[folder.name]
        table = rows[label]
        files = sorted(folders[folder], key=natural_key)
        names = {path: lower_extension(path.name) for path in files}
        for path, name in names.items():
            key = f"{label}/{name}"
            if label == "CT_NonCOVID" and _copied(name, names.values(), table):
                reason = "a converted copy of the .jpg of the same name"
                yield Skip(key=key, reason=reason, paths=(path,))
            else:
                make = partial(_case, key, path, table.get(name), splits.get(key))
                yield from cases_or_skip(make, key=key, paths=(path,))


def frames(case: Case, volume: Any) -> list[int]:
    """Refuse small images, and wide ones, which mostly consist of several panels."""
    sides = sorted(volume.slices.shape[1:3])
    if sides[0] < LEAST_SIDE or sides[1] > MOST_ASPECT * sides[0]:
        raise RefusedError(
            f"{case.key}: its sides are {sides[0]} and {sides[1]} pixels; expected at least "
            f"{LEAST_SIDE} and a ratio up to {MOST_ASPECT}: others are too small or several panels",
            code="odd-size",
        )
    return [0]


def _case(key: str, path: Path, row: TableRow | None, split: str | None) -> Iterator[Case]:
    label, _, _ = key.partition("/")
    patient = None
    facts: tuple[tuple[str, str], ...] = ()
    if row is not None:
        column = "Patient ID" if label == "CT_COVID" else "patient id"
        patient = f"{label}:{row[column]}" if row[column] else None
        facts = tuple(
            (name, row[source])
            for name, source, clean in (("sex", "Gender", str.isalpha), ("age", "Age", str.isdigit))
            if clean(row.get(source, ""))
        )
    yield Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        patient=patient,
        labels=(Label(field="diagnosis", value=label, evidence=f"folder {path.parent.name}"),),
        split=split,
        facts=facts,
    )


def _rows(root: RawTree) -> tuple[dict[str, dict[str, TableRow]], list[Skip]]:
    """Return the row of each image by class and name, and skips for rows without a name."""
    columns = ("File name", "Patient ID", "Age", "Gender")
    sick, skips = group_by_name(
        read_sheet(find_table(root, "patients"), columns=columns), "File name"
    )
    # A quarter of the rows lack the suffix; every COVID image is a .png.
    rows = {"CT_COVID": {_with_suffix(name): own[-1] for name, own in sick.items()}}
    rows["CT_NonCOVID"] = {}
    if path := find_optional_table(root, "others"):
        table = read_csv(path, columns=("image name", "patient id"))
        others, more = group_by_name(table, "image name")
        rows["CT_NonCOVID"] = {name: own[-1] for name, own in others.items()}
        skips += more
    return rows, skips


def _with_suffix(name: str) -> str:
    return name if name.endswith(".png") else f"{name}.png"


def _splits(root: RawTree) -> dict[str, str]:
    splits: dict[str, str] = {}
    for path in root.part("splits"):
        split, _, label = path.stem.partition("CT_")
        lines = read_text(path).splitlines()
        splits |= {f"CT_{label}/{line.strip()}": split for line in lines if line.strip()}
    return splits


def _copied(name: str, names: Collection[str], table: Mapping[str, TableRow]) -> bool:
    """Whether an image is a re-export: some copies convert each .jpg to .png and keep both."""
    twin = name.endswith(".png") and name.removesuffix(".png") + ".jpg" in names
    return twin and name not in table
