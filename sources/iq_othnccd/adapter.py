"""IQ-OTH/NCCD: the folder is the label, of the case and not of the slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medrcube.errors import RefusedError, SourceError
from medrcube.facts import Case, ImageRef, Label, Skip
from medrcube.sources._formats.tables.tables import natural_key
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
SIZES = {name: CARD.integer(f"{name.lower()}_slices") for name in ("Benign", "Malignant", "Normal")}
SIDE = CARD.integer("side_px")
_NAME = CARD.pattern("slice", "label", "number")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the images by class, then by number.

    Raises:
        SourceError: a class holds more images than the release, or one number twice.
    """
    del layout  # both spellings are read
    entries: list[tuple[str, int, Path]] = []
    for path in sorted(root.files, key=natural_key):
        name = _NAME.fullmatch(path.stem)
        if name and _class(path.parent.name) == _class(name["label"]):
            entries.append((_class(name["label"]), int(name["number"]), path))
        elif path.suffix.lower() != ".txt" and path.parent.name != "Test cases":
            yield Skip(
                key=path.relative_to(root.path).as_posix(),
                reason="not named as in the release; wrongly titled copies mix in other pictures",
                paths=(path,),
            )
    _check(root, entries)
    for label, number, path in sorted(entries):
        yield Case(
            key=f"{label} case ({number})",
            images=(ImageRef(paths=(path,)),),
            labels=(Label(field="diagnosis", value=label, evidence=f"folder {path.parent.name}"),),
        )


def _class(name: str) -> str:
    """Class that a folder or file is named after; the authors write Bengin."""
    return name.partition(" ")[0].capitalize().replace("Bengin", "Benign")


def frames(case: Case, volume: Any) -> list[int]:
    """Refuse sizes other than 512 x 512: nearly all odd ones are malignant and give it away."""
    rows, columns = volume.slices.shape[1:3]
    if (rows, columns) != (SIDE, SIDE):
        raise RefusedError(
            f"{case.key}: is {columns} x {rows} pixels; expected {SIDE} x {SIDE}: odd sizes are "
            "almost only malignant, so the size would give the answer away, and smaller ones "
            "come from augmented copies",
            code="odd-size",
        )
    return [0]


def _check(root: RawTree, entries: list[tuple[str, int, Path]]) -> None:
    twice = [key for key, count in Counter(entry[:2] for entry in entries).items() if count > 1]
    beyond = [entry[:2] for entry in entries if not 1 <= entry[1] <= SIZES[entry[0]]]
    for label, number in (*twice, *beyond):
        raise SourceError(
            f"{root}: {label} case ({number}) "
            f"{'is there twice' if twice else f'is beyond the {SIZES[label]} of the release'}; "
            f"expected at most {SIZES} pictures: is this an augmented or doubled copy?"
        )
