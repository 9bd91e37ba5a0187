"""Abstention is the answer where a policy proves that an image hides a fact, and only there."""

from dataclasses import replace
from pathlib import Path

import pytest

from medrcube.build.open_items.question import CaseView
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.geometry_table import Geometry
from medrcube.build.stages.samples import Sample
from medrcube.facts import Case, ImageRef, Label, LabelState, MaskFile, Region
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

TASK = Task("Abstention")
ABSTAIN = "Cannot be determined from this image alone"
BLANK = {"str": "", "int": 0, "float": 0.0, "bool": False}
FRAME = (ImageRef(paths=(Path("a.nii.gz"),)),)


def record(kind, **values):
    blank = {name: BLANK.get(str(column.type)) for name, column in fields_of(kind)}
    return kind(**{**blank, **values})


def fields_of(kind):
    return kind.__dataclass_fields__.items()


def sample(case, artefact="clean", *, scope="image", **changes):
    return record(
        Sample,
        id=f"{case}-{artefact}", source="camus", case=case, artefact=artefact, patient="p",
        scope=scope, anatomy="Heart", modality="Ultrasound", image="a.png", frames="0", width=100,
        height=100, **changes,
    )  # fmt: skip


@pytest.fixture
def ask_source():
    """Questions of a case of a source of the package."""

    def ask(source, *labels, images=FRAME, samples=(), regions=(), geometry=(), more=(), **changes):
        card = find_sources()[source].card
        case = Case(
            key="c",
            images=images,
            patient="p",
            labels=tuple(
                Label(field=field, value=value, state=LabelState.PRESENT, evidence="t:1")
                for field, value in labels
            )
            + more,
            regions=regions,
            **changes,
        )
        view = CaseView(
            task=TASK,
            card=card,
            case=case,
            facts=facts_of_case(card, case, load_terms()),
            samples=samples or (sample("c"),),
            geometry=geometry,
            terms=load_terms(),
            relations=load_relations(),
        )
        return list(open_questions(view))

    return ask


def key(question):
    return dict(question.target.options)[question.target.key]


def texts(question):
    return [text for _, text in question.target.options]


@pytest.fixture
def frame(ask_source):
    return ask_source("camus", ("view", "4CH"))


@pytest.fixture
def pair(ask_source):
    both = (
        sample("c", scope="patient"),
        replace(sample("c", "numbered", scope="patient"), field="phase"),
    )
    labels = (("view", "4CH"), ("ejection_fraction", "62"))
    return ask_source("camus", *labels, images=FRAME * 2, samples=both)


def test_one_frame_cannot_tell_an_ejection_fraction(frame):
    assert {(key(question), question.role) for question in frame} == {(ABSTAIN, "hidden")}
    assert not any(question.bar_reason for question in frame)


def test_both_phases_tell_it(pair):
    assert {(key(question), question.role) for question in pair} == {("55% or higher", "shown")}
    assert not any(question.bar_reason for question in pair)


def test_phases_that_the_masks_do_not_confirm_tell_nothing(ask_source):
    labels = (("view", "4CH"), ("ejection_fraction", "62"))
    questions = ask_source(
        "camus", *labels, images=FRAME * 2, samples=(sample("c", scope="patient"),)
    )
    assert {question.bar_reason for question in questions} == {"panels-unsure"}


def test_members_of_a_set_have_the_same_options_and_the_abstention_stands_last(frame, pair):
    shown_texts, hidden = (
        {tuple(texts(question)) for question in questions} for questions in (pair, frame)
    )
    assert shown_texts <= hidden
    assert len(shown_texts) == 3
    assert {len(options) for options in hidden} == {4}
    assert {options[-1] for options in hidden} == {ABSTAIN}


def test_an_image_of_two_panels_makes_no_set_with_one_of_one_panel(ask_source, frame, pair):
    shown_strata = {question.stratum for question in pair}
    assert shown_strata.isdisjoint(question.stratum for question in frame)
    two = ask_source("camus", ("view", "4CH"), images=FRAME * 2)
    assert shown_strata < {question.stratum for question in two if question.role == "hidden"}


def test_words_of_a_set_do_not_tell_how_many_images_there_are(frame, pair):
    assert {tuple(question.values.items()) for question in (*frame, *pair)} == {
        tuple(frame[0].values.items())
    }


def test_a_twin_is_of_the_same_patient_and_view(ask_source, pair):
    (other, *_) = ask_source("camus", ("view", "2CH"))
    assert other.stratum not in {question.stratum for question in pair}
    (stranger, *_) = ask_source(
        "camus", ("view", "4CH"), samples=(replace(sample("c"), patient="q"),)
    )
    assert stranger.stratum not in {question.stratum for question in pair}
    (nobody, *_) = ask_source("camus", ("view", "4CH"), samples=(replace(sample("c"), patient=""),))
    assert nobody.bar_reason == "no-patient"


@pytest.mark.parametrize(
    ("source", "labels", "reason"),
    [
        ("acdc", (), "not-proved (one slice of a patient)"),
        ("padchest", (("view", "L"),), "not-proved (one view of a study)"),
        ("pocus-lung", (), "not-proved (one frame of a clip)"),
    ],
)
def test_a_fact_that_the_image_might_show_is_counted_and_not_asked(
    ask_source, source, labels, reason
):
    questions = ask_source(source, *labels)
    assert {question.bar_reason for question in questions} == {reason}


def tumor(ask_source, sequence, *, share=0.02, mask=True, denied=False):
    region = Region(
        field="subregion", value="4", shape=MaskFile(paths=(Path("m"),), values=(4,)), evidence="t"
    )
    row = record(
        Geometry,
        sample="c-clean", concept="ET", pixels=round(10_000 * share), width=100, height=100,
    )  # fmt: skip
    absent = Label(field="subregion", value="4", state=LabelState.ABSENT, evidence="t")
    questions = ask_source(
        "brats2021",
        ("sequence", sequence),
        ("plane", "axial"),
        regions=(region,) if mask else (),
        geometry=(row,) if mask else (),
        more=(absent,) if denied else (),
    )
    return [question for question in questions if question.concept == "ET"]


def test_without_contrast_agent_no_image_tells_of_enhancement(ask_source):
    assert [key(question) for question in tumor(ask_source, "t2", mask=False)] == [ABSTAIN]
    assert [key(question) for question in tumor(ask_source, "t1", mask=False)] == [ABSTAIN]
    assert [key(question) for question in tumor(ask_source, "t1ce")] == ["Yes"]


def test_flair_that_may_be_taken_after_the_agent_is_not_asked(ask_source):
    assert tumor(ask_source, "flair", mask=False) == []


def test_enhancement_is_denied_by_a_label_alone_and_never_by_a_missing_mark(ask_source):
    (question,) = tumor(ask_source, "t1ce", mask=False, denied=True)
    assert (key(question), question.role, question.bar_reason) == ("No", "shown", "")
    assert tumor(ask_source, "t1ce", mask=False) == []
    assert [key(question) for question in tumor(ask_source, "t1", mask=False, denied=True)] == [
        ABSTAIN
    ]


def test_a_speck_of_enhancement_is_not_asked(ask_source):
    assert [question.bar_reason for question in tumor(ask_source, "t1ce", share=0.001)] == [
        "roi-size"
    ]


@pytest.mark.parametrize(
    ("source", "labels", "answer"),
    [
        ("isles2022", [("sequence", "flair")], [ABSTAIN]),
        ("isles2022", [("sequence", "adc"), ("infarct", "none")], ["No"]),
        ("isles2022", [("sequence", "adc")], []),
        ("isles2022", [("sequence", "dwi"), ("infarct", "none")], []),
        ("brain-tumor-progression", [("sequence", "t1prereg")], [ABSTAIN]),
        ("brain-tumor-progression", [("sequence", "t1post")], []),
        ("duke-breast-mri", [("series", "pre")], [ABSTAIN]),
        ("duke-breast-mri", [("series", "post_1")], []),
    ],
)
def test_what_an_image_is_weighted_by_decides_whether_it_can_tell(
    ask_source, source, labels, answer
):
    questions = ask_source(source, *labels)
    assert sorted({key(question) for question in questions if not question.bar_reason}) == answer


def test_every_policy_gives_its_reason():
    for policy in TASK.declaration.settings["policy"]:
        assert len(policy["reason"]) > 40
        assert policy["evidence"].startswith("https://") if policy["asked"] else True
