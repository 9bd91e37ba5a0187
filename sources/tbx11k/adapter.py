"""TBX11K: the folder is the class of a film; COCO files have boxes of two kinds of TB."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import Case, ImageRef, Label, LabelState, Rectangle, Region, Skip
from medrcube.sources._formats.annotations.coco import CocoBox, CocoImage, read_coco
from medrcube.sources._formats.tables.rows import cases_or_skip
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_FILM = CARD.pattern("film", "folder", "number")
_ACTIVE, _UNCERTAIN = CARD.names("active"), CARD.names("uncertain")
_SIDE, _LEAST = CARD.integer("side_px"), CARD.number("least_box_px")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the films of each split, in annotation file order."""
    del layout
    films = root.index("films")
    for table in sorted(root.part("boxes")):
        split = table.stem.rpartition("_")[2]
        for image in read_coco(table):
            path = films.get(Path(image.name).name, root / "imgs" / image.name)
            make = partial(_film, image, path, table.name, split)
            yield from cases_or_skip(make, key=Path(image.name).stem, paths=(path,))


def _film(image: CocoImage, path: Path, table: str, split: str) -> Iterator[Case]:
    place = f"{table} {image.name}"
    match = _FILM.fullmatch(image.name)
    if match is None or image.size != (_SIDE, _SIDE):
        raise RowError(
            f"{table}: an image is not a film of {_SIDE} x {_SIDE} pixels such as tb/tb0005.png; "
            "is this another edition?"
        )
    folder, kinds = match["folder"], {box.category for box in image.boxes}
    if kinds and folder != "tb":
        raise RowError(f"{place}: has a box; expected boxes in films of tuberculosis alone")
    is_active = folder != "tb" or not kinds.isdisjoint(_ACTIVE)
    state = LabelState.PRESENT if is_active else LabelState.UNKNOWN
    kind = LabelState.PRESENT if len(kinds) == 1 else LabelState.UNKNOWN
    labels = [Label(field="film", value=folder, state=state, evidence=place)]
    labels += [
        Label(field="activity", value=name, state=kind, evidence=place) for name in sorted(kinds)
    ]
    yield Case(
        key=Path(image.name).stem,
        images=(ImageRef(paths=(path,)),),
        labels=tuple(labels),
        regions=tuple(_region(box) for box in image.boxes if box.category not in _UNCERTAIN),
        split=split,
    )


def _region(box: CocoBox) -> Region:
    x0, y0, x1, y1 = box.xyxy
    if min(x1 - x0, y1 - y0) < _LEAST:
        raise RowError(f"{box.evidence} is not a box; expected sides of {_LEAST:g} pixels or more")
    return Region(
        field="lesion",
        value=box.category,
        shape=Rectangle(xyxy=box.xyxy),
        evidence=box.evidence,
    )
