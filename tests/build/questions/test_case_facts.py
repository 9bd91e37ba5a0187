"""What a case says about its picture: statements that contradict each other leave it unknown."""

from pathlib import Path

import pytest

from medrcube.build.questions.case_facts import facts_of_case
from medrcube.facts import Case, Grade, ImageRef, Label, LabelState, Rectangle, Region
from medrcube.ontologies.terms import load_terms

FIELDS = """
[[field]]
name = "finding"
kind = "finding"
absence = "silent"
stated = "A"
[field.values]
edema = "Edema"
nodule = "Nodule"
devices = "Support Devices"
none = "No Finding"
unclear = ""

[[field]]
name = "second"
kind = "finding"
absence = "silent"
values = { edema = "Edema" }

[[field]]
name = "history"
kind = "disease"
scope = "patient"
absence = "silent"
values = { p = "Pneumonia" }

[[field]]
name = "structure"
kind = "structure"
absence = "silent"
values = { h = "heart" }
"""
PRESENT, ABSENT, UNKNOWN = LabelState.PRESENT, LabelState.ABSENT, LabelState.UNKNOWN
NORMAL = ("finding", "none", PRESENT)


@pytest.fixture
def ground(card):
    """What labels and boxes say: ``ground((field, value, state), .., boxes=[value, ..])``."""

    def read(*labels, boxes=(), stated="A"):
        case = Case(
            key="c1",
            images=(ImageRef(paths=(Path("c1.png"),)),),
            labels=tuple(
                Label(field=field, value=value, state=state, evidence="t:1")
                for field, value, state in labels
            ),
            regions=tuple(
                Region(
                    field="finding", value=value, shape=Rectangle(xyxy=(1, 1, 5, 5)), evidence="t:2"
                )
                for value in boxes
            ),
        )
        facts = facts_of_case(card(FIELDS.replace('"A"', f'"{stated}"')), case, load_terms())
        assert facts.unknown.isdisjoint({*facts.present, *facts.absent})
        return facts

    return read


@pytest.mark.parametrize("second", ["finding", "second"])
@pytest.mark.parametrize("states", [(PRESENT, ABSENT), (ABSENT, PRESENT)])
def test_what_one_says_and_another_denies_is_unknown(ground, states, second):
    facts = ground(("finding", "edema", states[0]), (second, "edema", states[1]))
    assert facts.unknown == {"Edema"}


def test_what_is_denied_and_boxed_is_unknown(ground):
    assert ground(("finding", "edema", ABSENT), boxes=["edema"]).unknown == {"Edema"}


@pytest.mark.parametrize("state", [PRESENT, ABSENT])
def test_what_is_left_open_once_is_unknown_whatever_else_is_said(ground, state):
    facts = ground(("finding", "edema", UNKNOWN), ("second", "edema", state))
    assert facts.unknown == {"Edema"}


@pytest.mark.parametrize("state", [PRESENT, ABSENT])
def test_what_is_said_twice_alike_is_known(ground, state):
    facts = ground(("finding", "edema", state), ("second", "edema", state))
    assert not facts.unknown
    assert "Edema" in (facts.present if state is PRESENT else facts.absent)


@pytest.mark.parametrize(
    ("label", "unknown"),
    [
        (("finding", "edema", PRESENT), {"No Finding", "Edema"}),
        (("finding", "edema", UNKNOWN), {"No Finding", "Edema"}),
    ],
)
def test_no_finding_and_the_finding_beside_it_are_unknown_and_deny_nothing(ground, label, unknown):
    facts = ground(NORMAL, label)
    assert facts.unknown == unknown
    assert not facts.present
    assert facts.absent["Nodule"].grade is Grade.C


def test_no_finding_and_the_finding_in_a_box_beside_it_are_unknown(ground):
    facts = ground(NORMAL, boxes=["nodule"])
    assert facts.unknown == {"No Finding", "Nodule"}
    assert not facts.present


@pytest.mark.parametrize(
    "label",
    [
        ("finding", "edema", ABSENT),
        ("finding", "devices", PRESENT),
        ("history", "p", PRESENT),  # of the patient: the picture may not show it
    ],
)
def test_no_finding_stands_beside_what_it_does_not_deny(ground, label):
    facts = ground(NORMAL, label)
    assert not facts.unknown
    assert "No Finding" in facts.present
    assert facts.absent["Nodule"].grade is Grade.B


@pytest.mark.parametrize("stated", ["B", "C"])
def test_no_finding_that_no_reader_stated_proves_no_more_than_silence(ground, stated):
    facts = ground(NORMAL, stated=stated)
    assert "No Finding" in facts.present
    assert {facts.absent[name].grade for name in ("Edema", "Nodule")} == {Grade.C}


def test_a_value_without_a_concept_leaves_the_silence_of_its_field_open(ground):
    facts = ground(("finding", "unclear", PRESENT))
    assert not {"Nodule", "No Finding", "Support Devices"} & {*facts.present, *facts.absent}
    assert "heart" in facts.absent


def test_a_value_without_a_concept_beside_one_with_it_leaves_nothing_open(ground):
    facts = ground(("finding", "unclear", PRESENT), ("finding", "edema", PRESENT))
    assert facts.absent["Nodule"].grade is Grade.C


def test_no_finding_denies_no_structure(ground):
    facts = ground(NORMAL)
    assert facts.absent["Nodule"].grade is Grade.B
    assert facts.absent["heart"].grade is Grade.C
