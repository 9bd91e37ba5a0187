"""COVID-19 Image Data Collection: one case per table row, in any edition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, LabelState, Skip
from medrcube.sources._formats.licences import may_redistribute
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.taxonomy import Anatomy, Modality

WHO = ("patientid", "Patientid")
FIELDS = {
    "Viral": "family",
    "Bacterial": "family",
    "Fungal": "family",
    "Pneumonia": "syndrome",
    "ARDS": "syndrome",
    "No Finding": "film",
}
NOTES = {"clinical notes": "clinical_notes", "other notes": "other_notes", "notes": "notes"}
MODALITIES = {name: Modality(name) for name in ("X-ray", "CT")}
MUST_AGREE = (*WHO, "finding", "view", "modality", "folder")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the rows by file name; the edition is recognised by the table's columns."""
    rows = read_csv(find_table(root, "table"), columns=("finding", "view", "filename"))
    scores: dict[str, TableRow] = {}
    if layout == "scored":
        columns = ("filename", "geographic_mean")
        table = read_csv(find_table(root, "scores"), columns=columns, comment="##")
        rows_of, skips = group_by_name(table, "filename")
        scores = {name: own[0] for name, own in rows_of.items()}
        yield from skips
    rows_of, skips = group_by_name(rows, "filename")
    yield from skips
    for name, (row, *others) in sorted(rows_of.items()):
        try:
            path = root / row.get("folder", "images") / name
        except RowError as error:
            yield Skip(key=name, reason=str(error), code=BAD_ROW)
            continue
        make = partial(_picture, row, others, path, scores)
        yield from cases_or_skip(make, key=name, paths=(path,))


def _picture(
    row: TableRow, others: Sequence[TableRow], path: Path, scores: Mapping[str, TableRow]
) -> Iterator[Case | Skip]:
    name = row["filename"]
    if any(row.get(column) != other.get(column) for other in others for column in MUST_AGREE):
        yield Skip(key=name, reason="rows of this file contradict each other", paths=(path,))
    elif row.get("folder") == "volumes":
        reason = "a CT volume of a second download, whose grey scale is not documented"
        yield Skip(key=name, reason=reason, paths=(path,))
    else:
        yield from _case(row, path, scores)


def _case(row: TableRow, path: Path, scores: Mapping[str, TableRow]) -> Iterator[Case]:
    if "modality" in row:
        modality = row.meaning("modality", MODALITIES)
    else:  # in the first edition, CT is a value of the view
        modality = Modality("CT" if row["view"] in {"CT", "Axial", "Coronal"} else "X-ray")
    film = modality.projection
    score = scores.get(row["filename"]) if film else None
    labels = [row.label("view", field="view" if film else "plane")] if row["view"] else []
    clear = score is not None and re.fullmatch(r"0(\.0*)?", score["geographic_mean"])
    state = (
        LabelState.UNKNOWN if clear else LabelState.PRESENT
    )  # readers saw no sign of it on this film
    labels.extend(
        row.label("finding", field=FIELDS.get(part, "cause"), value=part, state=state)
        for part in _parts(row["finding"])
        if film or part != "No Finding"  # one CT figure does not represent the whole lungs
    )
    if score is not None:
        labels += [score.label("geographic_mean", field=field) for field in ("opacity", "extent")]
    yield Case(
        key=row["filename"],
        images=(ImageRef(paths=(path,)),),
        patient=next((row[column] for column in WHO if row.get(column)), None),
        labels=tuple(labels),
        anatomy=Anatomy("Chest" if film else "Lungs"),
        modality=modality,
        licence=row.get("license") or None,
        redistribute=may_redistribute(row.get("license", "")),
        facts=row.facts(sex="sex", age="age", days="offset", survival="survival", icu="went_icu"),
        words=row.words(**NOTES),
    )


def _parts(finding: str) -> list[str]:
    """Return the levels of ``Pneumonia/Viral/COVID-19`` or the items of ``COVID-19, ARDS``.

    The first level of a path is dropped: stated in addition to its cause, it would make every
    other cause of pneumonia appear possible.
    """
    parts = [part.strip() for part in re.split("[/,]", finding) if part.strip()]
    return parts[1:] if len(parts) > 1 and parts[0] == "Pneumonia" else parts
