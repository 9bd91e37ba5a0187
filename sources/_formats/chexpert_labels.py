"""The fourteen CheXpert labels, in the tables of CheXpert and MIMIC-CXR.

A cell is 1 for present, 0 for explicitly absent, -1 for uncertain, and blank for not mentioned
(arXiv 1901.07031). Pneumonia is a disease, the others are findings; the general label "No Finding"
applies to both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medrcube.errors import SourceError
from medrcube.facts import Label, LabelState
from medrcube.sources._formats.tables.rows import check_no_finding
from medrcube.sources._formats.tables.tables import TableRow

__all__ = [
    "COLUMNS",
    "NO_FINDING",
    "OPACITY",
    "StudyLabels",
    "case_labels",
    "consensus",
    "read_states",
]

OPACITY = ("Lung Opacity", "Airspace Opacity")
"""One label under two names; the second is used in tables labelled by radiologists."""

COLUMNS = (
    *("No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Lesion", "Edema"),
    *("Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices"),
)
"""Labels with the same column name in all tables."""

_STATES = {
    **dict.fromkeys(("1.0", "1"), LabelState.PRESENT),
    **dict.fromkeys(("0.0", "0"), LabelState.ABSENT),
    **dict.fromkeys(("-1.0", "-1"), LabelState.UNKNOWN),
}
NO_FINDING = "No Finding"
_NOT_DENIED = {NO_FINDING, "Support Devices"}
"""Labels that may coexist with "No Finding", which ignores devices (arXiv 1901.07031)."""
_FIELDS = {"Pneumonia": ("disease",), NO_FINDING: ("finding", "disease")}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLabels:
    """Labels of a study by one reader or labeler.

    Attributes:
        place: location, such as ``train.csv:12``.
        states: state of each mentioned label.
    """

    place: str
    states: Mapping[str, LabelState]


def read_states(row: TableRow) -> StudyLabels:
    """Return the labels of one row, under their CheXpert names.

    Raises:
        RowError: a cell is not 1, 0, -1 or blank, or "No Finding" occurs with a finding.
        SourceError: the table has neither of the two columns for lung opacity.
    """
    opacity = next((name for name in OPACITY if name in row), None)
    if opacity is None:
        raise SourceError(
            f"{row.table}: expected a column {' or '.join(map(repr, OPACITY))}; is this another "
            "edition of the table?"
        )
    states = {name: row.state(name, _STATES) for name in COLUMNS if row[name]}
    if row[opacity]:
        states[OPACITY[0]] = row.state(opacity, _STATES)
    if states.get(NO_FINDING) is LabelState.PRESENT:
        present = (name for name, state in states.items() if state is LabelState.PRESENT)
        check_no_finding(
            row.cite(NO_FINDING), [name for name in present if name not in _NOT_DENIED]
        )
    return StudyLabels(place=f"{row.table}:{row.line}", states=states)


def consensus(first: StudyLabels, other: StudyLabels) -> StudyLabels:
    """Return the labels on which two labelers agree; others are unknown."""
    names = dict.fromkeys((*first.states, *other.states))
    return StudyLabels(
        place=f"{first.place}, {other.place}",
        states={
            name: first.states.get(name, LabelState.UNKNOWN)
            if first.states.get(name) is other.states.get(name)
            else LabelState.UNKNOWN
            for name in names
        },
    )


def case_labels(reading: StudyLabels) -> tuple[Label, ...]:
    """Return labels for a card with the fields ``finding`` and ``disease``."""
    return tuple(
        Label(field=field, value=name, state=state, evidence=f"{reading.place} {name}: {state}")
        for name, state in reading.states.items()
        for field in _FIELDS.get(name, ("finding",))
    )
