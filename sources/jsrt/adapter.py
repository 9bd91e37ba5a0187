"""JSRT: films with one lung nodule or none; masks of five structures from the SCR database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medrcube.errors import ReadError, RefusedError, RowError
from medrcube.facts import (
    BAD_ROW,
    Case,
    ImageRef,
    Label,
    LabelState,
    MaskFile,
    PixelLayout,
    Quantity,
    Rectangle,
    Region,
    Skip,
)
from medrcube.sources._formats.dicom.patients import ADULT_YEARS
from medrcube.sources._formats.tables.contents import read_text
from medrcube.sources._formats.tables.redaction import cell_shape
from medrcube.sources._formats.tables.rows import skip_if_unnamed
from medrcube.sources._formats.tables.tables import TableRow, find_table, iter_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from medrcube.build.pixels.volume import Volume

CARD = own_card(__file__)
_RAW_SIDE, _RAW_MM = CARD.integer("raw_side_px"), CARD.number("raw_pixel_mm")
_RAW = PixelLayout(
    rows=_RAW_SIDE,
    columns=_RAW_SIDE,
    dtype=">u2",
    bits=CARD.integer("raw_bits"),
    inverted=True,
    spacing=(_RAW_MM, _RAW_MM),
)
_SIDE = CARD.integer("side_px")
_SCALE = _SIDE / _RAW_SIDE
_MM = _RAW_MM / _SCALE  # pixel size of the reduced film
_PLAIN, _LOCATED = CARD.integer("plain_subtlety"), CARD.integer("located_subtlety")
_LEAST_MM = CARD.number("least_nodule_mm")
_FILM = CARD.pattern("film", "stem")
_MASK = CARD.pattern("mask", "fold", "structure", "stem")
_NODULE = CARD.pattern("nodule_row", "subtlety", "size", "age", "sex", "x", "y")
_NORMAL = CARD.pattern("normal_row", "age", "sex")
_TABLE = CARD.pattern("table")
_STEM = CARD.pattern("row_of_film", "stem")
_SEXES = {name: name.lower() for name in ("male", "female", "Male", "Female")}
_STATES = {name: name.lower() for name in ("malignant", "benign", "Malignant", "Benign")}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Person:
    """Table entries of one film; ``size`` in mm, ``x`` and ``y`` in pixels of 2048 x 2048."""

    age: str
    sex: str
    place: str
    subtlety: int = 0
    size: float = 0
    x: float = 0
    y: float = 0


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the films by name."""
    names = list(root.names)
    people = _kaggle(find_table(root, "tables")) if layout == "kaggle" else _raw(root, names)
    for place in sorted(name for name in people if ":" in name):  # rows without a film name
        yield Skip(key=place, reason=str(people[place]), code=BAD_ROW)
    masks: dict[str, list[tuple[str, Region]]] = {}
    for match in filter(None, map(_MASK.fullmatch, names)):
        region = Region(
            field="structure",
            value=match["structure"].lower(),
            shape=MaskFile(paths=(root / match[0],)),
            evidence=f"{match['fold']} {match['structure']}",
        )
        masks.setdefault(match["stem"].upper(), []).append((match["fold"].lower(), region))
    matches = filter(None, map(_FILM.fullmatch, names))
    films = {match["stem"].upper(): root / match[0] for match in matches}
    for stem, path in sorted(films.items()):
        person = people.get(stem)
        if not isinstance(person, _Person):
            reason = str(
                person or f"{path.name}: the tables of the release have no row of this film"
            )
            yield Skip(key=stem, reason=reason, paths=(path,), code=BAD_ROW)
            continue
        own_masks = masks.get(stem, [])
        yield Case(
            key=stem,
            images=(ImageRef(paths=(path,), raw=None if layout == "kaggle" else _RAW),),
            patient=stem,
            labels=tuple(_labels(stem, person)),
            regions=(*(region for _, region in own_masks), *_nodule(person)),
            quantities=_size(person),
            split=own_masks[0][0] if own_masks else None,
            facts=tuple(
                (k, v) for k, v in (("sex", person.sex), ("age", person.age)) if v.isalnum()
            ),
        )


def _size(person: _Person) -> tuple[Quantity, ...]:
    if not person.size:
        return ()
    return (Quantity(field="nodule_size", value=person.size, unit="mm", evidence=person.place),)


def read(image: ImageRef) -> Volume:
    """Read a film and reduce it to 1024 x 1024; an image must be 8 bit with dark corners.

    Raises:
        RefusedError: code ``film-size``.
        ReadError: code ``not-8-bit``, ``inverted-tone``, or those of the reader.
    """
    from medrcube.build import readers  # noqa: PLC0415  # of an extra: adapters load without it

    volume, name = readers.read(image), image.paths[0].name
    _, rows, columns = volume.slices.shape[:3]
    if rows != columns or rows % _SIDE or volume.colour:
        expected = f"grey, {_SIDE} or {_RAW.rows} pixels a side"
        problem = f"{name}: is {columns} x {rows}; expected {expected}"
        raise RefusedError(problem, code="film-size")
    film = volume.slices[0]
    if image.raw is None:
        _check_tone(name, film)
    factor = rows // _SIDE
    blocks = film.reshape(_SIDE, factor, _SIDE, factor)
    small = (blocks.sum(axis=(1, 3), dtype="u4") // factor**2).astype(film.dtype)
    spacing = (1.0, _MM, _MM)
    return replace(volume, slices=small[None], spacing=spacing)


def _check_tone(name: str, film: NDArray[Any]) -> None:
    """Refuse an image whose corners, which are outside the body, are not dark."""
    if film.dtype.itemsize != 1:
        problem = f"is {film.dtype}; expected 8 bit"
        raise ReadError(f"{name}: {problem}: is it another copy of the films?", code="not-8-bit")
    edge = film.shape[0] // 32
    corners = sorted(
        float(film[rows, columns].mean())
        for rows in (slice(edge), slice(-edge, None))
        for columns in (slice(edge), slice(-edge, None))
    )
    if corners[1] > film.mean():
        raise ReadError(
            f"{name}: its corners are brighter than the film; the card assumes that copies in PNG "
            "show bone bright: is this one inverted?",
            code="inverted-tone",
        )


def _raw(root: RawTree, names: list[str]) -> Mapping[str, _Person | RowError]:
    """Read both clinical tables: no header, any line ends, blanks or tabs between fields."""
    people: dict[str, _Person | RowError] = {}
    for name in names:
        if _TABLE.fullmatch(name):
            for number, line in enumerate(read_text(root / name, "latin-1").splitlines(), 1):
                if line.strip():
                    place = f"{name.rpartition('/')[2]}:{number}"
                    match = _STEM.fullmatch(line)
                    people[match["stem"].upper() if match else place] = _person(line, place)
    return people


def _person(line: str, place: str) -> _Person | RowError:
    if match := _NODULE.fullmatch(line):
        return _Person(
            age=match["age"],
            sex=match["sex"],
            place=place,
            subtlety=int(match["subtlety"]),
            size=float(match["size"]),
            x=float(match["x"]),
            y=float(match["y"]),
        )
    if match := _NORMAL.fullmatch(line):
        return _Person(age=match["age"], sex=match["sex"], place=place)
    return RowError(
        f"{place}: {cell_shape(line)} is not a row as the card knows them; expected film, "
        "subtlety, size, age, sex, x, y, state, or film, age, sex and non-nodule"
    )


def _kaggle(table: Path) -> Mapping[str, _Person | RowError]:
    people: dict[str, _Person | RowError] = {}
    columns = ("study_id", "subtlety", "size", "age", "gender", "x", "y", "state")
    for row in iter_csv(table, columns=columns):
        match = None if skip_if_unnamed(row, "study_id") else _STEM.fullmatch(row["study_id"])
        stem = match["stem"].upper() if match else row.place
        try:
            people[stem] = _row(row)
        except RowError as error:
            people[stem] = error
    return people


def _row(row: TableRow) -> _Person:
    if not _STEM.fullmatch(row["study_id"]):
        raise RowError(f"{row.quote('study_id')}: expected JPCLN or JPCNN, and a number")
    age, sex = row["age"] or "?", row.meaning("gender", _SEXES)
    if not re.fullmatch(r"\d+|\?", age):
        raise RowError(f"{row.quote('age')}: expected whole years or ?")
    if not row["study_id"].upper().startswith("JPCLN"):
        return _Person(age=age, sex=sex, place=row.place)
    row.meaning("state", _STATES)
    return _Person(
        age=age,
        sex=sex,
        place=row.place,
        subtlety=row.meaning("subtlety", {str(n): n for n in range(1, 6)}),
        size=row.number("size"),
        x=row.number("x"),
        y=row.number("y"),
    )


def _labels(stem: str, person: _Person) -> Iterator[Label]:
    """Yield the labels; unknown for a nearly invisible nodule, and never normal for a child."""
    if stem.startswith("JPCLN"):
        evidence = f"{person.place} subtlety={person.subtlety}"
        if person.subtlety >= _PLAIN:
            yield Label(field="nodule", value="nodule", evidence=evidence)
        elif person.subtlety < _LOCATED:
            yield Label(field="nodule", value="nodule", state=LabelState.UNKNOWN, evidence=evidence)
    elif person.age.isdigit() and int(person.age) >= ADULT_YEARS:
        yield Label(field="nodule", value="non-nodule", evidence=f"{person.place} {stem}")


def _nodule(person: _Person) -> Iterator[Region]:
    if person.subtlety < _LOCATED or person.size < _LEAST_MM:
        return
    radius = person.size / 2 / _MM
    x, y = person.x * _SCALE, person.y * _SCALE
    box = (max(x - radius, 0), max(y - radius, 0), min(x + radius, _SIDE), min(y + radius, _SIDE))
    shape = Rectangle(xyxy=box, frame=(_SIDE, _SIDE))
    evidence = f"{person.place} size={person.size:g} mm"
    yield Region(field="nodule", value="nodule", shape=shape, evidence=evidence)
