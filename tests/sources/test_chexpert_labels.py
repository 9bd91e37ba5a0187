import pytest

from medrcube.errors import SourceError
from medrcube.facts import State
from medrcube.sources._formats.chexpert_labels import (
    COLUMNS,
    Reading,
    agreed,
    labels_of,
    read_states,
)
from medrcube.sources._formats.tables.tables import Row


def row(opacity="Lung Opacity", **cells):
    values = dict.fromkeys((*COLUMNS, opacity), "")
    return Row(values | {name.replace("_", " "): cell for name, cell in cells.items()}, "t.csv", 7)


def reading(**states):
    return Reading(place="t.csv:7", states=states)


def test_a_zero_is_absent_a_minus_one_unknown_and_a_blank_says_nothing():
    states = read_states(row(Edema="1.0", Fracture="0.0", Pneumonia="-1.0", Cardiomegaly="")).states
    assert states == {
        "Edema": State.PRESENT,
        "Fracture": State.ABSENT,
        "Pneumonia": State.UNKNOWN,
    }


def test_airspace_opacity_is_lung_opacity_under_another_name():
    found = read_states(row(opacity="Airspace Opacity", Airspace_Opacity="1"))
    assert found.states == {"Lung Opacity": State.PRESENT}


def test_a_table_with_neither_name_of_lung_opacity_is_refused():
    with pytest.raises(SourceError, match=r"expected a column 'Lung Opacity' or 'Airspace"):
        read_states(row(opacity="Opacity"))


def test_any_other_cell_is_refused():
    with pytest.raises(SourceError, match=r"t.csv:7 Edema=2: expected one of"):
        read_states(row(Edema="2"))


def test_labelers_count_only_where_they_agree():
    one = reading(Edema=State.PRESENT, Fracture=State.ABSENT, Pneumothorax=State.PRESENT)
    other = reading(Edema=State.PRESENT, Fracture=State.ABSENT, Pneumothorax=State.ABSENT)
    assert agreed(one, other).states == {
        "Edema": State.PRESENT,
        "Fracture": State.ABSENT,
        "Pneumothorax": State.UNKNOWN,
    }


def test_what_one_labeler_alone_says_is_unknown():
    assert agreed(reading(Edema=State.ABSENT), reading()).states == {"Edema": State.UNKNOWN}


def test_no_finding_answers_both_questions_and_pneumonia_that_of_diseases():
    labels = labels_of(reading(**{"No Finding": State.PRESENT, "Pneumonia": State.ABSENT}))
    assert [(label.field, label.value, label.state) for label in labels] == [
        ("finding", "No Finding", State.PRESENT),
        ("disease", "No Finding", State.PRESENT),
        ("disease", "Pneumonia", State.ABSENT),
    ]
