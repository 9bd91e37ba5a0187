"""COVID-CT: the folder is the label; tables and split lists tell the patient and the split."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from medrcube.errors import RefusedError
from medrcube.records import Case, ImageRef, Label, Skip
from medrcube.sources.raw_tree import RawTree, lower_extension
from medrcube.sources.spreadsheets import read_sheet
from medrcube.sources.tables import Row, natural, read_csv

LEAST_SIDE, MOST_ASPECT = 200, 2.5
_FOLDERS = {"CT_COVID": "CT_COVID", "CT_NonCOVID": "CT_NonCOVID", "CT_nonCOVID": "CT_NonCOVID"}
_KINDS = {".png", ".jpg"}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the pictures of both classes in order of name."""
    rows = _covid_rows(root), _other_rows(root, needed=layout == "repository")
    splits = _splits(root)
    for folder in (*root.folders("**/CT_COVID"), *root.folders("**/CT_*onCOVID")):
        label = _FOLDERS[folder.name]
        table = rows[label == "CT_NonCOVID"]
        files = sorted((it for it in root.below(folder) if _is_picture(it, folder)), key=natural)
        named = {path: lower_extension(path.name) for path in files}
        for path, name in named.items():
            key = f"{label}/{name}"
            if label == "CT_NonCOVID" and _copied(name, named.values(), table):
                reason = "a converted copy of the .jpg of the same name"
                yield Skip(key=key, reason=reason, paths=(path,))
            else:
                yield _case(key, path, table.get(name), splits.get(key))


def frames(case: Case, volume: Any) -> list[int]:
    """Refuse small pictures and wide ones, which are mostly several panels."""
    sides = sorted(volume.slices.shape[1:3])
    if sides[0] < LEAST_SIDE or sides[1] > MOST_ASPECT * sides[0]:
        raise RefusedError(
            f"{case.key}: its sides are {sides[0]} and {sides[1]} pixels; expected at least "
            f"{LEAST_SIDE} and a ratio up to {MOST_ASPECT}: others are too small or several panels",
            code="odd-size",
        )
    return [0]


def _case(key: str, path: Path, row: Row | None, split: str | None) -> Case:
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
    return Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        patient=patient,
        labels=(Label(field="diagnosis", value=label, evidence=f"folder {path.parent.name}"),),
        split=split,
        facts=facts,
    )


def _covid_rows(root: RawTree) -> dict[str, Row]:
    path = next(iter(root.glob("**/COVID-CT-MetaInfo.xlsx")), root / "COVID-CT-MetaInfo.xlsx")
    rows = read_sheet(path, columns=("File name", "Patient ID", "Age", "Gender"))
    # The suffix is missing in a quarter of the rows; every COVID picture is a .png.
    return {_with_suffix(row["File name"]): row for row in rows}


def _is_picture(path: Path, folder: Path) -> bool:
    return path.parent == folder and path.suffix.lower() in _KINDS


def _with_suffix(name: str) -> str:
    return name if name.endswith(".png") else f"{name}.png"


def _other_rows(root: RawTree, *, needed: bool) -> dict[str, Row]:
    paths = root.glob("**/NonCOVID-CT-MetaInfo.csv")
    if not paths and not needed:
        return {}
    path = paths[0] if paths else root / "NonCOVID-CT-MetaInfo.csv"
    return {row["image name"]: row for row in read_csv(path, columns=("image name", "patient id"))}


def _splits(root: RawTree) -> dict[str, str]:
    found: dict[str, str] = {}
    for label in ("CT_COVID", "CT_NonCOVID"):
        for split in ("train", "val", "test"):
            for path in root.glob(f"**/{split}{label}.txt"):
                lines = path.read_text(encoding="utf-8-sig").splitlines()
                found |= {f"{label}/{line.strip()}": split for line in lines if line.strip()}
    return found


def _copied(name: str, names: Collection[str], table: Mapping[str, Row]) -> bool:
    """Whether a picture is a re-export: some copies turn each .jpg into a .png and keep both."""
    twin = name.endswith(".png") and name.removesuffix(".png") + ".jpg" in names
    return twin and name not in table
