"""Statements that exclude each other by what they imply leave every concept in them unknown."""

from pathlib import Path

import pytest

from medrcube.build.questions.case_facts import facts_of_case
from medrcube.facts import Case, ImageRef, Label, LabelState, Rectangle, Region
from medrcube.ontologies.terms import load_terms

FIELDS = """
[[field]]
name = "pathology"
kind = "disease"
absence = "implied"
group = "pathology"
values = { b = "BENIGN", m = "MALIGNANT" }

[[field]]
name = "histology"
kind = "disease"
absence = "implied"
group = "breast histology"
values = { f = "fibroadenoma", i = "invasive ductal carcinoma" }

[[field]]
name = "history"
kind = "disease"
scope = "patient"
absence = "silent"
values = { i = "invasive ductal carcinoma" }

[[field]]
name = "bleeding"
kind = "finding"
scope = "slice"
absence = "reader"
values = { any = "any", epidural = "epidural" }

[[field]]
name = "patient_bleeding"
kind = "finding"
scope = "patient"
absence = "reader"
values = { any = "any", epidural = "epidural" }

[[field]]
name = "clear"
kind = "finding"
scope = "slice"
absence = "implied"
group = "hemorrhage presence"
values = { none = "no intracranial hemorrhage" }

[[field]]
name = "margin"
kind = "finding"
absence = "reader"
group = "mass margin"
COMPOUND
values = { ill = "ILL_DEFINED", spiculated = "SPICULATED", clear = "CIRCUMSCRIBED" }

[[field]]
name = "structure"
kind = "structure"
absence = "implied"
group = "chest structure"
values = { h = "heart", a = "aorta" }
"""
PRESENT, ABSENT, UNKNOWN = LabelState.PRESENT, LabelState.ABSENT, LabelState.UNKNOWN


@pytest.fixture
def ground(card):
    def read(*labels, boxes=(), compound=False):
        case = Case(
            key="c1",
            images=(ImageRef(paths=(Path("c1.png"),)),),
            labels=tuple(
                Label(field=field, value=value, state=state, evidence="t:1")
                for field, value, state in labels
            ),
            regions=tuple(
                Region(field=field, value=value, shape=Rectangle(xyxy=(1, 1, 5, 5)), evidence="t:2")
                for field, value in boxes
            ),
        )
        text = FIELDS.replace("COMPOUND", f"compound = {str(compound).lower()}")
        facts = facts_of_case(card(text), case, load_terms())
        assert facts.unknown.isdisjoint({*facts.present, *facts.absent})
        return facts

    return read


def test_a_cancer_filed_as_benign_is_neither(ground):
    facts = ground(("histology", "i", PRESENT), ("pathology", "b", PRESENT))
    assert facts.unknown == {"invasive ductal carcinoma", "BENIGN"}
    assert not facts.present


def test_a_group_whose_value_is_disputed_denies_none_of_its_members(ground):
    facts = ground(("histology", "i", PRESENT), ("pathology", "b", PRESENT))
    assert {"MALIGNANT", "fibroadenoma"}.isdisjoint(facts.absent)


def test_two_members_of_a_group_are_both_unknown(ground):
    facts = ground(("pathology", "m", PRESENT), ("pathology", "b", PRESENT))
    assert facts.unknown == {"BENIGN", "MALIGNANT"}
    assert ground(("margin", "ill", PRESENT), ("margin", "clear", PRESENT)).unknown


def test_members_of_a_compound_group_are_all_true(ground):
    labels = ("margin", "ill", PRESENT), ("margin", "spiculated", PRESENT)
    facts = ground(*labels, compound=True)
    assert not facts.unknown
    assert {"ILL_DEFINED", "SPICULATED"} <= facts.present.keys()
    assert "CIRCUMSCRIBED" in facts.absent


def test_what_agrees_is_known(ground):
    facts = ground(("histology", "i", PRESENT), ("pathology", "m", PRESENT))
    assert not facts.unknown
    assert "BENIGN" in facts.absent


def test_a_whole_that_is_denied_beside_one_of_its_kinds_is_unknown(ground):
    facts = ground(("bleeding", "epidural", PRESENT), ("bleeding", "any", ABSENT))
    assert facts.unknown == {"any"}
    assert "epidural" in facts.present


def test_what_one_slice_lacks_another_slice_of_the_patient_may_show(ground):
    facts = ground(("patient_bleeding", "epidural", PRESENT), ("bleeding", "any", ABSENT))
    assert not facts.unknown
    facts = ground(("bleeding", "epidural", PRESENT), ("patient_bleeding", "any", ABSENT))
    assert facts.unknown == {"any"}


def test_a_normal_slice_contradicts_its_findings_and_not_those_of_the_patient(ground):
    none = ("clear", "none", PRESENT)
    facts = ground(none, ("bleeding", "epidural", PRESENT))
    assert facts.unknown == {"no intracranial hemorrhage", "epidural"}
    facts = ground(none, boxes=[("bleeding", "epidural")])
    assert facts.unknown == {"no intracranial hemorrhage", "epidural"}
    assert not ground(none, ("patient_bleeding", "epidural", PRESENT)).unknown


def test_a_lesion_and_the_history_of_its_patient_are_two_things(ground):
    assert not ground(("pathology", "b", PRESENT), ("history", "i", PRESENT)).unknown


def test_two_marked_structures_do_not_exclude_each_other(ground):
    facts = ground(boxes=[("structure", "h"), ("structure", "a")])
    assert not facts.unknown
    assert {"heart", "aorta"} <= facts.present.keys()


def test_what_is_left_open_contradicts_nothing(ground):
    facts = ground(("histology", "i", UNKNOWN), ("pathology", "b", PRESENT))
    assert facts.unknown == {"invasive ductal carcinoma"}
    assert "BENIGN" in facts.present
