import pytest

from medrcube.errors import SourceError
from medrcube.facts import LabelState
from medrcube.sources._formats.chexpert_labels import (
    COLUMNS,
    StudyLabels,
    case_labels,
    consensus,
    read_states,
)
from medrcube.sources._formats.tables.tables import TableRow


def row(opacity="Lung Opacity", **cells):
    values = dict.fromkeys((*COLUMNS, opacity), "")
    return TableRow(
        values | {name.replace("_", " "): cell for name, cell in cells.items()}, "t.csv", 7
    )


def reading(**states):
    return StudyLabels(place="t.csv:7", states=states)


def test_a_zero_is_absent_a_minus_one_unknown_and_a_blank_says_nothing():
    states = read_states(row(Edema="1.0", Fracture="0.0", Pneumonia="-1.0", Cardiomegaly="")).states
    assert states == {
        "Edema": LabelState.PRESENT,
        "Fracture": LabelState.ABSENT,
        "Pneumonia": LabelState.UNKNOWN,
    }


def test_airspace_opacity_is_lung_opacity_under_another_name():
    states = read_states(row(opacity="Airspace Opacity", Airspace_Opacity="1"))
    assert states.states == {"Lung Opacity": LabelState.PRESENT}


def test_a_table_with_neither_name_of_lung_opacity_is_refused():
    with pytest.raises(SourceError, match=r"expected a column 'Lung Opacity' or 'Airspace"):
        read_states(row(opacity="Opacity"))


def test_any_other_cell_is_refused():
    with pytest.raises(SourceError, match=r"t.csv:7 Edema=2: expected one of"):
        read_states(row(Edema="2"))


def test_labelers_count_only_where_they_agree():
    states = reading(
        Edema=LabelState.PRESENT, Fracture=LabelState.ABSENT, Pneumothorax=LabelState.PRESENT
    )
    other = reading(
        Edema=LabelState.PRESENT, Fracture=LabelState.ABSENT, Pneumothorax=LabelState.ABSENT
    )
    assert consensus(states, other).states == {
        "Edema": LabelState.PRESENT,
        "Fracture": LabelState.ABSENT,
        "Pneumothorax": LabelState.UNKNOWN,
    }


def test_what_one_labeler_alone_says_is_unknown():
    assert consensus(reading(Edema=LabelState.ABSENT), reading()).states == {
        "Edema": LabelState.UNKNOWN
    }


def test_no_finding_answers_both_questions_and_pneumonia_that_of_diseases():
    labels = case_labels(
        reading(**{"No Finding": LabelState.PRESENT, "Pneumonia": LabelState.ABSENT})
    )
    assert [(label.field, label.value, label.state) for label in labels] == [
        ("finding", "No Finding", LabelState.PRESENT),
        ("disease", "No Finding", LabelState.PRESENT),
        ("disease", "Pneumonia", LabelState.ABSENT),
    ]
