"""PadChest: one case per film; report labels if assigned by a physician."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import Case, ImageRef, Label, LabelState, Scope, Skip
from medrcube.sources._formats.dicom.patients import ADULT_YEARS
from medrcube.sources._formats.tables.rows import cases_or_skip, skip_if_unnamed
from medrcube.sources._formats.tables.tables import TableRow, find_table, iter_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

_COLUMNS = (
    *("ImageID", "ImageDir", "StudyDate_DICOM", "PatientID", "PatientBirth", "Projection"),
    *("MethodProjection", "Pediatric", "PhotometricInterpretation_DICOM", "MethodLabel", "Labels"),
)
CARD = own_card(__file__)
_DISEASES = CARD.names("diseases")
_HINTS = CARD.names("hints")
_NO_FILM = frozenset(CARD.names("unfit"))


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:  # noqa: ARG001
    """Yield a case or a skip for every row of the label table, in table order."""
    files = root.index("films")
    for row in iter_csv(find_table(root, "table"), columns=_COLUMNS):
        if skip := skip_if_unnamed(row, "ImageID"):
            yield skip
            continue
        name = row["ImageID"]
        path = files.get(name) or _place(root, row)
        key = name.removesuffix(".png")
        yield from cases_or_skip(partial(_film, row, key, path), key=key, paths=(path,))


def _place(root: RawTree, row: TableRow) -> Path:
    """Return the expected path of a film, even if this copy lacks it."""
    try:
        return root / row["ImageDir"] / row["ImageID"]
    except RowError:
        return root / row["ImageID"]


def _film(row: TableRow, key: str, path: Path) -> tuple[Case | Skip]:
    names = _names(row)
    reason = _unsuited(row, names)
    if reason:
        return (Skip(key=key, reason=reason, paths=(path,)),)
    manual = row["MethodProjection"] == "Manual review of DICOM fields"
    state = LabelState.PRESENT if manual else LabelState.UNKNOWN
    case = Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        patient=row.name("PatientID"),
        unit=row.get("StudyID"),
        labels=(row.label("Projection", field="view", state=state), *_labels(row, names)),
        shows=Scope.IMAGE if row["Projection"] == "L" else Scope.STUDY,
        facts=row.facts(sex="PatientSex_DICOM"),
    )
    return (case,)


def _names(row: TableRow) -> list[str]:
    """Parse a list such as ``['normal', ' pneumonia', '']``; stripped, without duplicates."""
    text = row["Labels"]
    if not text:
        return []
    try:
        items = ast.literal_eval(text)
        return list(dict.fromkeys(item.strip() for item in items if item.strip()))
    except (AttributeError, SyntaxError, TypeError, ValueError):
        raise RowError(f"{row.quote('Labels')}: expected a list of texts in brackets") from None


def _unsuited(row: TableRow, names: list[str]) -> str:
    """Return why a film is excluded, or empty."""
    year, birth = row["StudyDate_DICOM"][:4], row["PatientBirth"].partition(".")[0]
    young = year.isdigit() and birth.isdigit() and int(year) - int(birth) < ADULT_YEARS
    if row["Projection"] in {"COSTAL", "EXCLUDE"}:
        return f"the projection is {row['Projection']}, not one of the chest"
    if not _NO_FILM.isdisjoint(names):
        return "its readers call the film unfit"
    if row["PhotometricInterpretation_DICOM"] == "MONOCHROME1":
        return "the film was stored inverted; whether its picture was turned back is not documented"
    if row["Pediatric"] == "PED" or young:
        return "a film of a child"
    return ""


def _labels(row: TableRow, names: list[str]) -> Iterator[Label]:
    """Yield the report labels; those predicted by a network from the text are unknown."""
    by_physician = row["MethodLabel"] == "Physician"
    for name in names:
        if name == "normal" and len(names) > 1:
            continue
        state = LabelState.PRESENT if by_physician and name not in _HINTS else LabelState.UNKNOWN
        field = "disease" if name in _DISEASES else "finding"
        yield row.label("Labels", field=field, value=name, state=state)
