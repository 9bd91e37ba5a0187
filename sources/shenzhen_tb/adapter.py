"""Shenzhen: label in the file name, confirmed by the reading; third-party lung masks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, MaskFile, Region, Skip, Words
from medrcube.sources._formats.dicom.patients import ADULT_YEARS
from medrcube.sources._formats.tables.contents import read_text_of_case
from medrcube.sources._formats.tables.rows import skip_if_unnamed
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_FILE = CARD.pattern("file", "film", "mask")
_PERSON = CARD.pattern("person", "sex", "age", "unit")
_MASK_FOLDERS = ("mask", "masks")


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reading of one film; the age in years if that is the unit."""

    person: re.Match[str] | None
    text: str
    evidence: str
    sidecars: tuple[Path, ...] = ()

    def is_child(self) -> bool:
        if self.person is None:
            return False
        # A number without a unit may be years; treating a small one as a child's age is safer.
        months_or_days = (self.person["unit"] or "").lower() in {"m", "d"}
        return months_or_days or int(self.person["age"]) < ADULT_YEARS

    def facts(self) -> tuple[tuple[str, str], ...]:
        if self.person is None:
            return ()
        sex = (("sex", "F" if self.person["sex"][0] in "fF" else "M"),)
        in_years = (self.person["unit"] or "").lower() == "y"
        return (*sex, ("age", self.person["age"])) if in_years else sex


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per film, by name."""
    films: dict[str, Path] = {}
    masks: dict[str, Path] = {}
    # Some copies contain a folder twice, nested: the first file of a name counts.
    for path in root.part("pictures"):
        name = _FILE.fullmatch(path.name)
        if name is not None and not path.parent.name.startswith("Annotations"):
            mask = name["mask"] or path.parent.name in _MASK_FOLDERS
            (masks if mask else films).setdefault(name["film"], path)
    readings = _READERS[layout](root)
    for place in sorted(name for name in readings if ":" in name):  # rows without a film name
        yield Skip(key=place, reason=str(readings[place]), code=BAD_ROW)
    for film, path in sorted(films.items()):
        reading = readings.get(film)
        if reading is None and layout != "masked":
            reason = "no reading of this film is in this copy, so its label cannot be confirmed"
            yield Skip(key=film, reason=reason, paths=(path,))
            continue
        if isinstance(reading, RowError):
            yield Skip(key=film, reason=str(reading), paths=(path,), code=BAD_ROW)
            continue
        _, number, label = film.split("_")
        yield Case(
            key=film,
            images=(ImageRef(paths=(path,)),),
            patient=number,
            labels=_labels(path.name, label, reading),
            regions=_regions(masks.get(film)),
            facts=reading.facts() if reading else (),
            words=_words(film, reading),
            sidecars=reading.sidecars if reading else (),
        )


def _words(film: str, reading: _Reading | None) -> tuple[Words, ...]:
    if reading is None:
        return ()
    return (Words(name="reading", text=reading.text, evidence=f"reading of {film}"),)


def _labels(name: str, label: str, reading: _Reading | None) -> tuple[Label, ...]:
    if reading is None:
        return (Label(field="tuberculosis", value=label, evidence=name),)
    if reading.is_child():
        return ()
    # Some readings are reported to be in the file of another film.
    agree = (reading.text.casefold() == "normal") == (label == "0")
    state = LabelState.PRESENT if agree else LabelState.UNKNOWN
    return (Label(field="tuberculosis", value=label, state=state, evidence=reading.evidence),)


def _regions(mask: Path | None) -> tuple[Region, ...]:
    if mask is None:
        return ()
    shape = MaskFile(paths=(mask,))
    return (Region(field="lungs", value="lungs", shape=shape, evidence=mask.name),)


def _texts(root: RawTree) -> dict[str, _Reading | RowError]:
    """Read the files of two or three lines: sex and age, then the reading."""
    readings: dict[str, _Reading | RowError] = {}
    for name, path in root.index("readings").items():
        try:
            text = read_text_of_case(path, "latin-1")
        except RowError as error:
            readings[path.stem] = error
            continue
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if name.startswith("CHNCXR_") and len(lines) > 1:
            person = _PERSON.fullmatch(lines[0])
            readings[path.stem] = _Reading(person, " ".join(lines[1:]), name, (path,))
    return readings


def _table(root: RawTree) -> dict[str, _Reading | RowError]:
    table = find_table(root, "table")
    readings: dict[str, _Reading | RowError] = {}
    for row in read_csv(table, columns=("study_id", "sex", "age", "findings")):
        if skip := skip_if_unnamed(row, "study_id"):
            readings[row.place] = RowError(skip.reason)
            continue
        try:
            readings[row["study_id"].removesuffix(".png")] = _row(row)
        except RowError as error:
            readings[row["study_id"].removesuffix(".png")] = error
    return readings


def _row(row: TableRow) -> _Reading:
    person = _PERSON.fullmatch(f"{row['sex']} {row['age']}")
    if person is None:
        column = "sex" if row["age"][:1].isdigit() else "age"
        cell = row.quote(column, ("male", "female"))
        raise RowError(f"{cell}: expected male or female, and an age")
    return _Reading(person, row.name("findings"), row.cite("findings"))


_READERS: dict[str, Callable[[RawTree], dict[str, _Reading | RowError]]] = {
    "nlm": _texts,
    "raddar": _table,
    "masked": lambda _: {},
}
