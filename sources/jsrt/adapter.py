"""JSRT: films with one lung nodule or none; masks of five structures from the SCR database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medrcube.errors import ReadError, RefusedError, SourceError
from medrcube.records import Case, ImageRef, Label, MaskFile, RawLayout, Rectangle, Region, State
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.tables import iter_csv

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from medrcube.build.pixels.volume import Volume

_RAW = RawLayout(
    rows=2048, columns=2048, dtype=">u2", bits=12, inverted=True, spacing=(0.175, 0.175)
)
_SIDE = 1024
"""Films are shrunk to the frame of the SCR masks."""
_SCALE = _SIDE / _RAW.rows
_MM = 0.175 / _SCALE  # of one pixel of the shrunk film
_FILM = re.compile(r"(?i)(?:.*/)?(jpc(?:ln|nn)\d{3})\.(?:img|png)")
_MASK = re.compile(
    r"(?i)(?:.*/)?(fold[12])/masks/(heart|(?:left|right) (?:lung|clavicle))/"
    r"(jpc(?:ln|nn)\d{3})\.gif"
)
# Name, subtlety, size, age, sex, x, y and state; the rest is text cut at fixed columns.
_NODULE = re.compile(
    r"(?i)\s*(jpcln\d{3})\.\w+\s+([1-5])\s+(\d+)\s+(\d+|\?)\s+(male|female)\s+(\d+)\s+(\d+)\s+"
    r"(malignant|benign)\b.*"
)
_TABLE = re.compile(r"(?i)(?:.*/)?c[ln]ndat_en\.txt")
_PLAIN, _LOCATED, _LEAST_MM, _ADULT = 4, 3, 10, 18  # of subtlety, subtlety, mm and years
_NORMAL = re.compile(r"(?i)\s*(jpcnn\d{3})\.\w+\s+(\d+|\?)\s+(male|female)\s+non-nodule\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Person:
    """What the tables say of one film; ``size`` in mm, ``x`` and ``y`` in the 2048 frame."""

    age: str
    sex: str
    place: str
    subtlety: int = 0
    size: float = 0
    x: float = 0
    y: float = 0


def cases(root: RawTree, layout: str) -> Iterator[Case]:
    """Yield the films in order of their names."""
    names = list(root.names)
    people = _kaggle(root / "jsrt_metadata.csv") if layout == "kaggle" else _raw(root, names)
    masks: dict[str, list[tuple[str, Region]]] = {}
    for match in filter(None, map(_MASK.fullmatch, names)):
        region = Region(
            field="structure",
            value=match[2].lower(),
            shape=MaskFile(paths=(root / match[0],)),
            evidence=f"{match[1]} {match[2]}",
        )
        masks.setdefault(match[3].upper(), []).append((match[1].lower(), region))
    films = {match[1].upper(): root / match[0] for match in map(_FILM.fullmatch, names) if match}
    for stem, path in sorted(films.items()):
        person = people.get(stem)
        if person is None:
            raise SourceError(f"{path}: the tables of the release have no row of this film")
        marked = masks.get(stem, [])
        yield Case(
            key=stem,
            images=(ImageRef(paths=(path,), raw=None if layout == "kaggle" else _RAW),),
            patient=stem,
            labels=tuple(_labels(stem, person)),
            regions=(*(region for _, region in marked), *_nodule(person)),
            split=marked[0][0] if marked else None,
            facts=tuple(
                (k, v) for k, v in (("sex", person.sex), ("age", person.age)) if v.isalnum()
            ),
        )


def read(image: ImageRef) -> Volume:
    """Read a film and shrink it to 1024 x 1024; a picture must be 8 bit and dark at its corners.

    Raises:
        RefusedError: code ``film-size``.
        ReadError: code ``not-8-bit``, ``inverted-tone``, and those of the reader.
    """
    from medrcube.build import readers  # noqa: PLC0415  # of an extra: adapters load without it

    volume, name = readers.read(image), image.paths[0].name
    _, rows, columns = volume.slices.shape[:3]
    if rows != columns or rows % _SIDE or volume.colour:
        expected = f"grey, {_SIDE} or {_RAW.rows} pixels a side"
        found = f"{name}: is {columns} x {rows}; expected {expected}"
        raise RefusedError(found, code="film-size")
    film = volume.slices[0]
    if image.raw is None:
        _check_tone(name, film)
    factor = rows // _SIDE
    blocks = film.reshape(_SIDE, factor, _SIDE, factor)
    small = (blocks.sum(axis=(1, 3), dtype="u4") // factor**2).astype(film.dtype)
    spacing = (1.0, _MM, _MM)
    return replace(volume, slices=small[None], spacing=spacing)


def _check_tone(name: str, film: NDArray[Any]) -> None:
    """Refuse a picture whose corners, which lie beside the body, are not dark."""
    if film.dtype.itemsize != 1:
        found = f"is {film.dtype}; expected 8 bit"
        raise ReadError(f"{name}: {found}: is it another copy of the films?", code="not-8-bit")
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


def _raw(root: RawTree, names: list[str]) -> Mapping[str, _Person]:
    """Both clinical tables: no header, any line end, blanks or tabs between the fields."""
    people: dict[str, _Person] = {}
    for name in names:
        if _TABLE.fullmatch(name):
            lines = (root / name).read_text("latin-1").split("\n")  # universal newlines
            for number, line in enumerate(lines, 1):
                if line.strip():
                    stem, person = _person(line, f"{name.rpartition('/')[2]}:{number}")
                    people[stem] = person
    return people


def _person(line: str, place: str) -> tuple[str, _Person]:
    if found := _NODULE.fullmatch(line):
        stem, subtlety, size, age, sex, x, y, _ = found.groups()
        numbers = {"size": float(size), "x": float(x), "y": float(y)}
        person = _Person(age=age, sex=sex, place=place, subtlety=int(subtlety), **numbers)
    elif found := _NORMAL.fullmatch(line):
        stem, age, sex = found.groups()
        person = _Person(age=age, sex=sex, place=place)
    else:
        raise SourceError(
            f"{place}: {line[:60]!r} is no row as the card knows them; expected film, subtlety, "
            "size, age, sex, x, y, state, or film, age, sex and non-nodule"
        )
    return stem.upper(), person


def _kaggle(table: Path) -> Mapping[str, _Person]:
    people: dict[str, _Person] = {}
    columns = ("study_id", "subtlety", "size", "age", "gender", "x", "y", "state")
    for row in iter_csv(table, columns=columns):
        stem = row["study_id"].partition(".")[0].upper()
        if stem.startswith("JPCLN"):
            fields = ("study_id", "subtlety", "size", "age", "gender", "x", "y", "state")
            cells = [row[field].removesuffix(".0") or "?" for field in fields]
            people[stem] = _person(" ".join(cells), f"{row.table}:{row.line}")[1]
        else:
            place = f"{row.table}:{row.line}"
            age = row["age"].removesuffix(".0")
            people[stem] = _Person(age=age, sex=row["gender"], place=place)
    return people


def _labels(stem: str, person: _Person) -> Iterator[Label]:
    """Of a nodule close to invisible a picture says nothing, nor is a child's film normal."""
    if stem.startswith("JPCLN"):
        evidence = f"{person.place} subtlety={person.subtlety}"
        if person.subtlety >= _PLAIN:
            yield Label(field="nodule", value="nodule", evidence=evidence)
        elif person.subtlety < _LOCATED:
            yield Label(field="nodule", value="nodule", state=State.UNKNOWN, evidence=evidence)
    elif person.age.isdigit() and int(person.age) >= _ADULT:
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
