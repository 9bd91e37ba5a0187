"""Presence is asked where a finding was read and where it was denied, never without a word."""

from dataclasses import replace
from pathlib import Path

import pytest

from medrcube.build.open_items.question import CaseView
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.samples import Sample
from medrcube.errors import MedrcubeError
from medrcube.facts import Case, Grade, ImageRef, Label, LabelState, Scope
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.taxonomy import Task

FINDINGS = """
[[field]]
name = "finding"
kind = "finding"
absence = "silent"
stated = "A"
[field.values]
edema = "Edema"
heart = "Cardiomegaly"
rest = "Other lesion"
devices = "Support Devices"
doubt = "possible pneumonia"
none = "No Finding"
"""
READ = FINDINGS.replace('absence = "silent"', 'absence = "reader"')
AIR = """
[[field]]
name = "air"
kind = "finding"
absence = "implied"
group = "pneumothorax presence"
values = { yes = "Pneumothorax", no = "no pneumothorax" }
"""
TUMOR = """
[[field]]
name = "tumor"
kind = "disease"
absence = "implied"
group = "brain tumor class"
values = { g = "glioma", m = "meningioma" }
"""
VIEW = """
[[field]]
name = "view"
kind = "view"
absence = "implied"
group = "chest view"
values = { AP = "AP", PA = "PA", odd = "" }
"""
PRESENT, ABSENT, UNKNOWN = LabelState.PRESENT, LabelState.ABSENT, LabelState.UNKNOWN
IMAGES = (ImageRef(paths=(Path("c1.png"),)),)
SAMPLE = Sample(
    id="s1", source="toy", case="c1", artefact="clean", field="", marked="", truth="", choices=0,
    area=0.0, regions=0, image="images/c1.png", pixel_sha256="0", perceptual_hash="", width=10,
    height=10, anatomy="Chest", modality="X-ray", patient="p", split="", scope="image",
    licence="CC0-1.0", redistribute=True, frames="0", reason="only one", recipe="r",
)  # fmt: skip


@pytest.fixture
def ask_card(card):
    """Questions of a case of such a card: ``ask_card(CARD, ("finding", "edema", PRESENT))``."""

    def ask(parts, *labels, picture=None, images=IMAGES, **changes):
        source = card(parts)
        case = Case(
            key="c1",
            images=images,
            labels=tuple(
                Label(field=field, value=value, state=state, evidence="t:1")
                for field, value, state in labels
            ),
            **changes,
        )
        view = CaseView(
            task=Task("Presence"),
            card=source,
            case=case,
            facts=facts_of_case(source, case, load_terms()),
            samples=(replace(SAMPLE, **(picture or {})),),
            geometry=(),
            terms=load_terms(),
            relations=load_relations(),
        )
        return list(open_questions(view))

    return ask


def roles(questions):
    return {question.concept: question.bar_reason or question.role for question in questions}


def test_what_was_read_is_there_and_what_was_denied_is_not(ask_card):
    questions = ask_card(FINDINGS, ("finding", "edema", PRESENT), ("finding", "heart", ABSENT))
    assert roles(questions) == {"Edema": "yes", "Cardiomegaly": "no"}
    assert [question.target.key for question in questions] == ["A", "B"]
    assert [dict(question.target.options)[question.target.key] for question in questions] == [
        "Yes",
        "No",
    ]


def test_silence_never_makes_the_image_without(ask_card):
    assert roles(ask_card(FINDINGS, ("finding", "edema", PRESENT))) == {"Edema": "yes"}


def test_a_no_finding_alone_never_makes_the_image_without(ask_card):
    assert set(roles(ask_card(FINDINGS, ("finding", "none", PRESENT))).values()) == {"silent"}


def test_what_is_unknown_is_not_asked(ask_card):
    labels = (("finding", "edema", UNKNOWN), ("finding", "heart", PRESENT))
    assert "Edema" not in roles(ask_card(READ, *labels))
    both = (("finding", "edema", PRESENT), ("finding", "edema", ABSENT))
    assert "Edema" not in roles(ask_card(FINDINGS, *both))


def test_readers_who_name_all_deny_what_they_do_not_name(ask_card):
    questions = ask_card(READ, ("finding", "edema", PRESENT))
    assert roles(questions) == {"Edema": "yes", "Cardiomegaly": "no"}
    assert {question.grade for question in questions} == {Grade.A}


def test_a_value_that_says_there_is_none_denies_the_other_of_its_group(ask_card):
    assert roles(ask_card(AIR, ("air", "no", PRESENT))) == {"Pneumothorax": "no"}
    assert roles(ask_card(AIR, ("air", "yes", PRESENT))) == {"Pneumothorax": "yes"}


def test_another_value_of_a_group_does_not_deny_it(ask_card):
    assert roles(ask_card(TUMOR, ("tumor", "g", PRESENT))) == {
        "glioma": "yes",
        "meningioma": "other-class",
    }


def test_another_value_denies_what_the_card_calls_sole(ask_card):
    sole = TUMOR.replace("[[field]]", '[[field]]\nsole = ["meningioma"]')
    assert roles(ask_card(sole, ("tumor", "g", PRESENT))) == {"glioma": "yes", "meningioma": "no"}
    assert roles(ask_card(sole, ("tumor", "m", PRESENT)))["glioma"] == "other-class"


@pytest.mark.parametrize("group", ['group = "brain tumor class"', ""])
def test_only_a_concept_of_a_field_with_a_group_is_sole(ask_card, group):
    names = '["meningioma"]' if not group else '["Edema"]'
    parts = TUMOR.replace("[[field]]", f"[[field]]\nsole = {names}")
    parts = parts.replace('group = "brain tumor class"', group)
    with pytest.raises(MedrcubeError, match="concepts of a field with a group"):
        ask_card(parts, ("tumor", "g", PRESENT))


@pytest.mark.parametrize(
    ("parts", "labels", "contrast"),
    [
        (FINDINGS, [("edema", PRESENT), ("heart", ABSENT)], "another"),
        (FINDINGS, [("heart", ABSENT)], "unstated"),
        (FINDINGS, [("edema", UNKNOWN), ("heart", ABSENT)], "unstated"),
        (FINDINGS, [("devices", PRESENT), ("heart", ABSENT)], "unstated"),
        (FINDINGS, [("none", PRESENT), ("heart", ABSENT)], "normal"),
    ],
)
def test_an_image_that_denies_a_finding_tells_what_else_it_shows(ask_card, parts, labels, contrast):
    questions = ask_card(parts, *(("finding", value, state) for value, state in labels))
    (heart,) = (question for question in questions if question.concept == "Cardiomegaly")
    assert (heart.role, heart.contrast) == ("no", contrast)
    assert {question.contrast for question in questions if question.role == "yes"} <= {""}


def test_a_finding_of_the_patient_is_no_contrast_of_the_image(ask_card):
    wider = TUMOR.replace("[[field]]", '[[field]]\nscope = "patient"')
    questions = ask_card(
        AIR + wider, ("air", "no", PRESENT), ("tumor", "g", PRESENT), shows=Scope.PATIENT
    )
    assert {q.contrast for q in questions if q.concept == "Pneumothorax"} == {"normal"}


def test_devices_doubts_rest_classes_and_no_finding_are_not_asked(ask_card):
    labels = [("finding", name, PRESENT) for name in ("rest", "devices", "doubt")]
    assert roles(ask_card(READ, *labels)).keys() == {"Edema", "Cardiomegaly"}
    assert "No Finding" not in roles(ask_card(READ, ("finding", "none", PRESENT)))


@pytest.mark.parametrize("graphics", ["arrow:apart", "text:rim", "caliper:on"])
def test_a_mark_or_word_on_the_image_bars_it(ask_card, graphics):
    questions = ask_card(FINDINGS, ("finding", "edema", PRESENT), picture={"graphics": graphics})
    assert roles(questions) == {"Edema": "burnt-in"}


def test_images_of_one_stratum_share_view_device_and_origin(ask_card):
    edema, pa = ("finding", "edema", PRESENT), ("view", "PA", PRESENT)

    def stratum(*labels, **changes):
        (question,) = ask_card(FINDINGS + VIEW, edema, *labels, **changes)
        return question.stratum

    assert stratum(pa) == stratum(pa)
    assert stratum(pa) != stratum(("view", "AP", PRESENT))
    assert stratum(("view", "odd", PRESENT)) != stratum(pa)
    assert stratum(pa, facts=(("machine", "A"),)) != stratum(pa, facts=(("machine", "B"),))
    first, second = (("provenance", "site a"),), (("provenance", "site b"),)
    assert stratum(pa, facts=first) != stratum(pa, facts=second)
    for change in ({"split": "test"}, {"licence": "CC-BY-4.0"}, {"colour": True}):
        assert stratum(pa, picture=change) != stratum(pa)
    assert stratum(pa, facts=(("age", "40"),)) == stratum(pa, facts=(("age", "50"),))


def test_an_image_of_unknown_view_stands_beside_none_where_the_source_tells_views_apart(ask_card):
    assert roles(ask_card(FINDINGS + VIEW, ("finding", "edema", PRESENT))) == {
        "Edema": "view-unknown"
    }


def test_a_category_of_the_finding_stays_in_its_words(ask_card):
    parts = FINDINGS.replace('edema = "Edema"', 'edema = "mass BI-RADS 3-5"')
    (question,) = ask_card(parts, ("finding", "edema", PRESENT))
    assert question.values["finding"] == "a breast mass (BI-RADS category 3 to 5)"


def test_several_images_side_by_side_are_not_asked(ask_card):
    assert ask_card(FINDINGS, ("finding", "edema", PRESENT), images=IMAGES * 2) == []


def test_the_values_of_a_group_are_one_topic_and_findings_of_a_list_are_not(ask_card):
    """Whether a tumor is a glioma tells whether it is a meningioma."""
    assert len({question.topic for question in ask_card(TUMOR, ("tumor", "g", PRESENT))}) == 1
    (question, *_) = ask_card(FINDINGS, ("finding", "edema", PRESENT))
    assert question.topic == ""
