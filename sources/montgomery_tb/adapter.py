"""Montgomery County: the file name contains the label; two mask folders have one lung each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from medrcube.errors import ReadError, RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, MaskFile, Region, Skip, Words
from medrcube.sources._formats.dicom.patients import ADULT_YEARS
from medrcube.sources._formats.tables.contents import read_text_of_case
from medrcube.sources._formats.tables.redaction import cell_shape
from medrcube.sources._formats.tables.rows import group_by_name
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_NAME = CARD.pattern("film", "number", "label")
_READING = CARD.pattern("reading", "sex", "age", "text")
_SAME_PERSON = CARD.pattern("same_person", "number")
_STRAY = CARD.names("stray_masks")
_SIDES = ("leftMask", "rightMask")
_MASKS = {
    "leftMask": ("left", "ManualMask/leftMask"),
    "rightMask": ("right", "ManualMask/rightMask"),
    "masks": ("both", "masks"),
}
"""Kind of mask -> part of the card, and mask folder next to that of the films."""
_COLUMNS = ("study_id", "gender", "age", "findings")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per film; people with two films get one patient number."""
    films = root.part("films")
    mask_folders = {name: place for name, (part, place) in _MASKS.items() if root.part(part)}
    row_of_film, nameless = _rows(root) if layout == "raddar" else ({}, [])
    yield from nameless
    texts, faults = _texts(root, films)
    rows = {stem: row for stem, row in row_of_film.items() if isinstance(row, TableRow)}
    faults |= {stem: row for stem, row in row_of_film.items() if isinstance(row, RowError)}
    texts |= {stem: _as_reading(row) for stem, row in rows.items()}
    sidecars = root.index("readings")
    readings = {stem: _READING.fullmatch(text) for stem, text in texts.items()}
    people = _people(readings)
    for path in films:
        name, reading = _NAME.fullmatch(path.name), readings.get(path.stem)
        masks = {name: _beside(path, place) for name, place in mask_folders.items()}
        if path.stem in faults:
            fault = str(faults[path.stem])
            yield Skip(key=path.stem, reason=fault, paths=(path, *masks.values()), code=BAD_ROW)
            continue
        if name is None or (reading is None and (layout != "mixed" or path.stem in texts)):
            text_shape = f"{cell_shape(texts[path.stem])}" if path.stem in texts else "none"
            row = rows.get(path.stem)
            place = f"reading of {path.stem}"
            if row:
                place = f"{row.quote('gender', ('male', 'female'))} {row.quote('age')}"
            reason = f"{place}: {text_shape}; expected sex, age in years and a reading"
            yield Skip(key=path.stem, reason=reason, paths=(path, *masks.values()), code=BAD_ROW)
            continue
        for folder in [
            mask_folder for mask_folder in masks if f"{mask_folder}/{path.stem}" in _STRAY
        ]:
            reason = "the mask carries a stray blob outside the lung"
            yield Skip(key=f"{path.stem}-{folder}", reason=reason, paths=(masks.pop(folder),))
        yield Case(
            key=path.stem,
            images=(ImageRef(paths=(path,)),),
            patient=people.get(name["number"], name["number"]),
            labels=_labels(path, name["label"], reading),
            regions=tuple(
                Region(
                    field="side" if folder in _SIDES else "lungs",
                    value=folder,
                    shape=MaskFile(paths=(mask,)),
                    evidence=f"{folder}/{mask.name}",
                )
                for folder, mask in masks.items()
            ),
            facts=_facts(reading),
            words=_words(path, reading),
            sidecars=tuple(file for file in (sidecars.get(f"{path.stem}.txt"),) if file),
        )


def frames(case: Case, volume: Any) -> list[int]:
    """Check that each lung mask is on the side of the image stated by its folder.

    Raises:
        ReadError: code ``lung-side`` if it is not.
    """
    from PIL import Image  # noqa: PLC0415

    for region in case.regions:
        if region.value in _SIDES and isinstance(region.shape, MaskFile):
            with Image.open(region.shape.paths[0]) as mask:
                x0, _, x1, _ = mask.convert("L").getbbox() or (0, 0, 0, 0)
                at_left = x0 + x1 < mask.width
            if at_left != (region.value == "leftMask"):
                side = "left" if at_left else "right"
                raise ReadError(
                    f"{region.evidence}: the mask lies at the {side} side of the picture; the card "
                    "assumes (unverified) that the folder is named after that side, which shows "
                    "the other lung of the patient; report this copy",
                    code="lung-side",
                )
    return list(range(volume.slices.shape[0]))


def _texts(root: RawTree, films: Sequence[Path]) -> tuple[dict[str, str], dict[str, RowError]]:
    """Return the text of each film's reading file, or the error if it cannot be read."""
    files = root.index("readings")
    texts: dict[str, str] = {}
    faults: dict[str, RowError] = {}
    for film in films:
        if f"{film.stem}.txt" in files:
            try:
                texts[film.stem] = read_text_of_case(files[f"{film.stem}.txt"], "latin-1")
            except RowError as error:
                faults[film.stem] = error
    return texts, faults


def _rows(root: RawTree) -> tuple[dict[str, TableRow | RowError], list[Skip]]:
    """Return the row of each film in the table edition, and skips for rows without a name."""
    table = read_csv(find_table(root, "table"), columns=_COLUMNS)
    rows_of, nameless = group_by_name(table, "study_id")
    rows_by_film: dict[str, TableRow | RowError] = {}
    for name, rows in rows_of.items():
        try:
            texts = {*map(_as_reading, rows)}
        except RowError as error:
            rows_by_film[name.partition(".")[0]] = error
        else:
            if len(texts) == 1:
                rows_by_film[name.partition(".")[0]] = rows[0]
    return rows_by_film, nameless


def _as_reading(row: TableRow) -> str:
    """Return a row in the format of the reading files."""
    sex, age = row["gender"][:1].upper(), row["age"].rstrip("Yy")
    return f"Patient's Sex: {sex} Patient's Age: {age}Y {row['findings']}"


def _people(readings: dict[str, re.Match[str] | None]) -> dict[str, str]:
    """Return the number of a person's earlier film, for films whose reading refers to it."""
    same: dict[str, str] = {}
    for key, reading in readings.items():
        other = _SAME_PERSON.fullmatch(reading["text"]) if reading else None
        if other:
            first, second = sorted((key.split("_")[1], other["number"]))
            same[second] = same.get(first, first)
    return same


def _beside(film: Path, folder: str) -> Path:
    return film.parent.parent / folder / film.name


def _labels(path: Path, label: str, reading: re.Match[str] | None) -> tuple[Label, ...]:
    state, evidence = LabelState.PRESENT, path.name
    if reading is not None:
        if int(reading["age"]) < ADULT_YEARS:
            return ()
        evidence = f"{path.stem}.txt"
        normal = reading["text"].strip().casefold() == "normal"
        if normal != (label == "0"):
            state = LabelState.UNKNOWN
    return (Label(field="tuberculosis", value=label, state=state, evidence=evidence),)


def _words(path: Path, reading: re.Match[str] | None) -> tuple[Words, ...]:
    if reading is None:
        return ()
    text = " ".join(reading["text"].split())  # lines are wrapped anywhere
    return (Words(name="reading", text=text, evidence=f"{path.stem}.txt"),)


def _facts(reading: re.Match[str] | None) -> tuple[tuple[str, str], ...]:
    if reading is None:
        return ()
    sex = () if reading["sex"] == "O" else (("sex", reading["sex"]),)
    return (*sex, ("age", str(int(reading["age"]))))
