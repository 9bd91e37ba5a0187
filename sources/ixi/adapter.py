"""IXI: one volume a sequence, found by its file name, with age and sex from IXI.xls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from medrcube.facts import Case, ImageRef, Label, Skip
from medrcube.sources._formats.tables.rows import group_by_name
from medrcube.sources._formats.tables.spreadsheets import read_sheet
from medrcube.sources._formats.tables.tables import find_optional_table
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

SEX = "SEX_ID (1=m, 2=f)"
PLANES = {"T1": ("axial", "coronal", "sagittal"), "T2": ("axial",), "PD": ("axial",)}
ECHOES = ("T2", "PD")
"""Sequences of one scan, with two echo times."""
CARD = own_card(__file__)
TESLA = {site: f"{CARD.number(f'{site.lower()}_tesla'):g}" for site in ("Guys", "HH", "IOP")}
HEIGHT = Fraction(CARD.integer("mid_brain_percent"), 100)
_NAME = CARD.pattern("volume", "stem", "who", "site", "kind")
_DISPUTED = CARD.names("disputed_people")
Facts = tuple[tuple[str, str], ...]


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield an axial slice of every volume, and two more planes of those whose voxels allow it."""
    del layout
    table = find_optional_table(root, "people")
    people, lost = ({}, []) if table is None else _people(table)
    yield from lost
    stems: set[str] = set()
    echoes: dict[str, dict[str, Path]] = {}
    for path in root.part("volumes"):
        match = _NAME.fullmatch(path.name)
        if match is None:
            continue
        stem = match["stem"]
        if stem in stems:
            name = path.relative_to(root.path).as_posix()
            yield Skip(key=name, reason="another copy of a volume", paths=(path,))
            continue
        stems.add(stem)
        if match["kind"] in ECHOES:
            echoes.setdefault(match["who"], {})[match["kind"]] = path
        for plane in PLANES.get(match["kind"], ("axial",)):
            yield Case(
                key=f"{stem}-{plane}",
                images=(ImageRef(paths=(path,)),),
                patient=match["who"],
                labels=(
                    Label(field="plane", value=plane, evidence="cut by the affine"),
                    Label(field="sequence", value=match["kind"], evidence=match[0]),
                ),
                plane=plane,
                facts=(
                    ("site", match["site"]),
                    ("tesla", TESLA[match["site"]]),
                    *people.get(match["who"], ()),
                ),
            )
    for who, files in echoes.items():
        if len(files) == len(ECHOES):
            yield _compared(who, files)


def frames(case: Case, volume: Any) -> list[int]:
    """Mid-brain of an axial T1 volume, else the middle of the head."""
    from medrcube.build.pixels.extent import slice_at_height  # noqa: PLC0415  # of an extra

    necked = case.plane == "axial" and any(label.value == "T1" for label in case.labels)
    return [slice_at_height(volume, HEIGHT if necked else Fraction(1, 2))]


def _compared(who: str, files: Mapping[str, Path]) -> Case:
    """The middle of the head in both echoes of one scan, which share a grid."""
    return Case(
        key=f"{who}-sequences",
        images=tuple(ImageRef(paths=(files[kind],)) for kind in ECHOES),
        patient=who,
        panels=tuple(
            Label(field="sequence", value=kind, evidence=files[kind].name) for kind in ECHOES
        ),
        compared=True,
        plane="axial",
    )


def _people(path: Path) -> tuple[dict[str, Facts], list[Skip]]:
    """Sex and age by subject: the first row of an id counts, a second one is mostly zeros."""
    people: dict[str, Facts] = {}
    rows = read_sheet(path, sheet="Table", columns=("IXI_ID", SEX, "AGE"))
    rows_of, lost = group_by_name(rows, "IXI_ID")
    for number, (row, *_) in rows_of.items():
        who = f"IXI{number.zfill(3)}"
        if who not in people and who not in _DISPUTED:
            sex = {"1": "male", "2": "female"}.get(row[SEX])
            facts = [("sex", sex)] if sex else []
            people[who] = (*facts, *row.facts(age="AGE"))
    return people, lost
