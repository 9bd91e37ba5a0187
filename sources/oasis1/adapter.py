"""OASIS-1: three planes of each person's first scan, in atlas space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.errors import RefusedError, RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, Skip
from medrcube.sources._formats.brain_directions import find_brain_directions
from medrcube.sources._formats.tables.rows import group_by_name
from medrcube.sources._formats.tables.spreadsheets import read_sheet
from medrcube.sources._formats.tables.tables import TableRow, find_optional_table
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
BOX = CARD.numbers("atlas_box_mm", 3)
HEIGHTS = {
    plane: Fraction(CARD.integer(f"{plane}_percent"), 100)
    for plane in ("axial", "coronal", "sagittal")
}
_FILE = CARD.pattern("volume", "session", "who")
_SESSION = CARD.pattern("session")
_SEXES = {"M": "male", "F": "female"}
Facts = tuple[tuple[str, str], ...]


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield three planes of the first scan of each person."""
    del layout
    table = find_optional_table(root, "people")
    people, lost = ({}, []) if table is None else _people(table)
    yield from lost
    pixels = root.index("pixels")
    keys: set[str] = set()
    for path in root.part("volumes"):
        name = _FILE.fullmatch(path.name)
        if name is None or name["session"] in keys:
            reason = "names no session" if name is None else "another copy of a volume"
            yield Skip(key=root.name_of(path), reason=reason, paths=(path,))
            continue
        keys.add(name["session"])
        voxels = path.with_suffix(".img" if path.suffix == ".hdr" else ".IMG")
        for plane in HEIGHTS:
            yield Case(
                key=f"{name['session']}-{plane}",
                images=(ImageRef(paths=(path,), parts=(pixels.get(voxels.name, voxels),)),),
                patient=name["who"],
                labels=(
                    Label(field="plane", value=plane, evidence="cut by the shape of the brain"),
                    Label(field="sequence", value="T1", evidence="fact sheet of OASIS-1"),
                ),
                plane=plane,
                facts=people.get(name["session"], ()),
            )


def read(image: ImageRef) -> Any:
    """Read a volume and orient it by the shape of the brain.

    Left and right remain unknown, as stated in the card.

    Raises:
        RefusedError: code ``not-in-atlas`` if it does not fill the atlas box, or
            ``wrong-directions``.
    """
    from medrcube.build import readers  # noqa: PLC0415

    volume = readers.read(image)
    name = image.paths[0].name
    shape = volume.slices.shape[::-1]
    spacing = (volume.spacing or (0.0, 0.0, 0.0))[::-1]
    box = tuple(count * size for count, size in zip(shape, spacing, strict=True))
    if not np.allclose(box, BOX, atol=0.5) or len(set(spacing)) > 1:
        actual, expected = (" x ".join(f"{side:g}" for side in sides) for sides in (box, BOX))
        raise RefusedError(
            f"{name}: is {actual} mm large; expected cubes that fill {expected} mm, the box of "
            "the T88 volumes: is this RAW, SUBJ_111 or a resampled copy?",
            code="not-in-atlas",
        )
    front, top = find_brain_directions(np.asarray(volume.slices).T > 0)
    affine = np.zeros((4, 4))
    affine[0, 2], affine[1, 1], affine[2, 0] = spacing[0], front * spacing[1], top * spacing[2]
    affine[3, 3] = 1.0
    return replace(volume, affine=affine)


def frames(case: Case, volume: Any) -> list[int]:
    """Return the slice at the fraction of the brain extent given in the card for the plane."""
    from medrcube.build.pixels.extent import slice_at_height  # noqa: PLC0415  # of an extra

    return [slice_at_height(volume, HEIGHTS[case.plane or "axial"])]


def _people(path: Path) -> tuple[dict[str, Facts], list[Skip]]:
    """Return sex and age by session."""
    people: dict[str, Facts] = {}
    rows_of, lost = group_by_name(read_sheet(path, columns=("ID", "M/F", "Age")), "ID")
    for session, (row, *_) in rows_of.items():
        try:
            people[session] = _facts(row)
        except RowError as error:
            lost.append(Skip(key=row.place, reason=str(error), code=BAD_ROW))
    return people, lost


def _facts(row: TableRow) -> Facts:
    if _SESSION.fullmatch(row["ID"]) is None:
        raise RowError(
            f"{row.quote('ID')}: names no session; expected one such as OAS1_0001_MR1. Some copies "
            "of the table have a 1 for each M: get it from the home page"
        )
    return (("sex", row.meaning("M/F", _SEXES)), *row.facts(age="Age"))
