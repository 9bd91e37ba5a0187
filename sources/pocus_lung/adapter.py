"""POCUS lung ultrasound: one case per table row, joined to its file by bare name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import BAD_ROW, Case, ImageRef, LabelState, Scope, Skip
from medrcube.sources._formats.licences import may_redistribute
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._formats.tables.rows import cases_or_skip, skip_if_unnamed
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_NAME = CARD.pattern("file", "prefix")
PREFIXES = {
    "cov": "covid-19",
    "pneu": "bacterial pneumonia",
    "reg": "regular",
    "vir": "viral pneumonia",
}
SIGNS = (
    "Effusion",
    "Consolidations",
    "B-lines",
    "A-lines",
    "Pleural line irregularities",
    "Air bronchogram",
)
_LICENCES = ("CC BY-NC-ND 4.0", "Creative Commons Attribution", "not specified", "no licence")
STATES = {"1": LabelState.PRESENT, "0": LabelState.ABSENT, "": LabelState.UNKNOWN}
COMMENTS = ("Comments first medical doctor (MD1)", "MD2", "MD3")
WORDS = {
    "website": "Comments from web site",
    "doctor 1": COMMENTS[0],
    "doctor 2": COMMENTS[1],
    "doctor 3": COMMENTS[2],
}
SOURCE, PATIENT = "Source ID", "Patient ID / Name"
COLUMNS = ("Filename", "Label", "License", "InThisRepo", "Type", "Probe", *SIGNS, "Healthy")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the rows in table order; unusable rows become skips."""
    del layout  # folders differ only in case
    columns = (*COLUMNS, *COMMENTS, SOURCE, PATIENT)
    rows = read_csv(find_table(root, "table"), columns=columns)
    files: dict[str, Path] = {}
    for path in root.part("files"):
        if not {"convex", "linear"}.isdisjoint(part.lower() for part in path.parts):
            files.setdefault(path.stem.lower(), path)
    with_name = [row for row in rows if skip_if_unnamed(row, "Filename") is None]
    yield from filter(None, (skip_if_unnamed(row, "Filename") for row in rows))
    rows_of = Counter(row["Filename"].lower() for row in with_name)
    for row in with_name:
        stem = row["Filename"]
        file, twice = files.get(stem.lower()), rows_of[stem.lower()] > 1
        key = f"{stem} (line {row.line})" if twice else stem
        try:
            path = file or _place(root, row)
            reason = "two rows have this name" if twice else _objection(row, file)
        except RowError as error:
            paths = () if file is None else (file,)
            yield Skip(key=key, reason=str(error), paths=paths, code=BAD_ROW)
            continue
        if reason:
            yield Skip(key=key, reason=f"{row.place}: {reason}", paths=(path,))
        else:
            yield from cases_or_skip(partial(_case, row, path), key=key, paths=(path,))


def _place(root: RawTree, row: TableRow) -> Path:
    """Return the expected path of a missing file; its suffix is not in the table."""
    kind = "pocus_videos" if row["Type"].lower() == "video" else "pocus_images"
    return root / "data" / kind / row["Probe"] / row["Filename"]


def _objection(row: TableRow, file: Path | None) -> str:
    """Return why a row must not be used, or empty."""
    prefix = _NAME.fullmatch(row["Filename"].lower())
    comments = " ".join(row[column].lower() for column in COMMENTS)
    sick = row["Label"].lower() != "regular"
    if not may_redistribute(row["License"]) and "emergency" not in row["License"].lower():
        licence = redact_cell(row["License"], _LICENCES)
        return f"the licence {licence!r} does not allow a picture made from it"
    if file is not None and "label_uncertain" in file.parts:
        return "the dataset calls its label uncertain"
    if prefix is None:
        return "the name lacks the prefix of a class"
    if PREFIXES[prefix["prefix"]] != row["Label"].lower():
        label = redact_cell(row["Label"], PREFIXES.values())
        return f"the name says {prefix['prefix']!r} but the table {label!r}"
    if "do not use" in comments or "no lung" in comments or {"liver", "95%"} <= _words(comments):
        return "a doctor's comment advises against its use"
    if (row["Healthy"] == "1" or not sick) and "1" in (row["Effusion"], row["Consolidations"]):
        return "called healthy, with an effusion or a consolidation"
    return ""


def _case(row: TableRow, file: Path) -> Iterator[Case]:
    states = {sign: row.state(sign, STATES) for sign in SIGNS}
    clean = row.state("Healthy", STATES) is LabelState.PRESENT
    # A row of zeros means "not mentioned" unless the row contains a statement.
    has_statement = clean or LabelState.PRESENT in states.values()
    labels = [
        row.label(sign, field="sign", value=sign, state=state)
        for sign, state in states.items()
        if has_statement or state is LabelState.PRESENT
    ]
    # A clean clip of a patient does not show the disease.
    unseen = clean and row["Label"].lower() != "regular"
    labels.append(
        row.label(
            "Label", field="class", state=LabelState.UNKNOWN if unseen else LabelState.PRESENT
        )
    )
    labels.append(row.label("Probe", field="probe"))
    if row.get("Lung Severity Score"):
        labels.append(row.label("Lung Severity Score", field="score"))
    has_patient = row[SOURCE] and row[PATIENT] not in {"", "n/A"}
    still = row["Type"].lower() == "image"
    facts = row.facts(sex="Gender", age="Age", area="Area according to DEGUM")
    yield Case(
        key=row["Filename"],
        images=(ImageRef(paths=(file,)),),
        patient=f"{row[SOURCE]}/{row[PATIENT]}" if has_patient else None,
        labels=tuple(labels),
        shows=Scope.VOLUME if still else Scope.IMAGE,
        licence=row["License"],
        redistribute=row["InThisRepo"] == "Yes" and may_redistribute(row["License"]),
        # Missing values are words such as `n/A` and `nd`.
        facts=tuple(fact for fact in facts if fact[1].isdecimal() or fact[1] in {"m", "w"}),
        words=row.words(**WORDS),
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[\w%]+", text))
