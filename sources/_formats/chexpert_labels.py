"""The fourteen CheXpert labels, in the tables of CheXpert and MIMIC-CXR.

A cell says 1 for present, 0 for stated absent, -1 for uncertain and nothing for not mentioned
(arXiv 1901.07031). Pneumonia is a disease, the rest are findings; the general label "No Finding"
is an answer to both questions.
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
"""One label under two names; the second is that of tables that radiologists filled."""

COLUMNS = (
    *("No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Lesion", "Edema"),
    *("Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices"),
)
"""The labels whose column has one name everywhere."""

_STATES = {
    **dict.fromkeys(("1.0", "1"), LabelState.PRESENT),
    **dict.fromkeys(("0.0", "0"), LabelState.ABSENT),
    **dict.fromkeys(("-1.0", "-1"), LabelState.UNKNOWN),
}
NO_FINDING = "No Finding"
_NOT_DENIED = {NO_FINDING, "Support Devices"}
"""Labels that may be present beside "No Finding": it says nothing of devices (arXiv 1901.07031)."""
_FIELDS = {"Pneumonia": ("disease",), NO_FINDING: ("finding", "disease")}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLabels:
    """What one reader or labeler says of a study.

    Attributes:
        place: where it stands, such as ``train.csv:12``.
        states: state of each label that is mentioned.
    """

    place: str
    states: Mapping[str, LabelState]


def read_states(row: TableRow) -> StudyLabels:
    """The labels of one row, under the names of CheXpert.

    Raises:
        RowError: a cell holds something else than 1, 0, -1 or nothing, or "No Finding" stands
            beside a finding.
        SourceError: the table names lung opacity neither way.
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
        named = (name for name, state in states.items() if state is LabelState.PRESENT)
        check_no_finding(row.cite(NO_FINDING), [name for name in named if name not in _NOT_DENIED])
    return StudyLabels(place=f"{row.table}:{row.line}", states=states)


def consensus(first: StudyLabels, other: StudyLabels) -> StudyLabels:
    """What two labelers say alike; where they differ, or only one speaks, it is unknown."""
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
    """Statements for a card with the fields ``finding`` and ``disease``."""
    return tuple(
        Label(field=field, value=name, state=state, evidence=f"{reading.place} {name}: {state}")
        for name, state in reading.states.items()
        for field in _FIELDS.get(name, ("finding",))
    )
