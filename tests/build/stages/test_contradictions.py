"""A source's own words against its labels."""

import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.contradictions import (
    CONTRADICTED,
    check_labels,
    count_outcomes,
    describe_words,
)
from medrcube.errors import CardError
from medrcube.facts import Case, ImageRef, Label, LabelState, Rectangle, Region, Words
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import load_card

TERMS = load_terms()
HEAD = """\
id = "toy"
title = "Toy"
homepage = "https://example.org"
release = "1"
images = 1
citation = "c"
[access]
mode = "open"
licence = "CC0-1.0"
redistribute = true
basis = { says = "CC BY 4.0", place = "https://example.org/toy" }
steps = ["get it"]
[[layout]]
name = "flat"
expect = { "*.png" = 1 }
[case]
anatomy = "Chest"
modality = "X-ray"
patient = "known"
tasks = ["Modality Recognition"]
[[field]]
name = "finding"
kind = "finding"
absence = "silent"
same = ["Edema", "Consolidation", "No Finding"]
[[field]]
name = "class"
kind = "disease"
absence = "implied"
group = "pneumonia family"
values = { v = "viral pneumonia", b = "bacterial pneumonia" }
[[field]]
name = "extent"
kind = "severity"
absence = "reader"
group = "lung involvement score"
bands = [
    { from = 0, to = 1, concept = "lung involvement 0 of 8" },
    { from = 1, to = 9, concept = "lung involvement 1-2 of 8" },
]
"""
TEXT = """
[[text]]
field = "finding"
from = ["note", "file name"]
evidence = "https://example.org"
[text.terms]
Edema = ["o?edema"]
[text.against]
"No Finding" = ["opacit(y|ies)"]
[[text]]
field = "class"
from = ["note"]
evidence = "https://example.org"
[text.terms]
"viral pneumonia" = ["viral"]
"bacterial pneumonia" = ["bacterial"]
[[text]]
from = ["note"]
evidence = "https://example.org"
normal = ["film ... normal", "unremarkable"]
spares = ["lung involvement 0 of 8"]
"""
PERSON = "Jane Doe, born 1 May 1950"


@pytest.fixture(scope="module")
def read(tmp_path_factory, reasoned):
    folder = tmp_path_factory.mktemp("cards")
    numbers = itertools.count()

    def make(text):
        path = folder / f"{next(numbers)}.toml"
        path.write_text(reasoned(HEAD + text), encoding="utf-8")
        return load_card(path)

    return make


@pytest.fixture(scope="module")
def card(read):
    return read(TEXT)


@pytest.fixture
def case(tmp_path):
    """``case(note, finding=("Edema", PRESENT))`` with the labels of one value each."""

    def make(note, name="1.png", regions=(), **labels):
        return Case(
            key="1",
            images=(ImageRef(paths=(tmp_path / name,)),),
            labels=tuple(
                Label(field=field, value=value, state=state, evidence=f"t.csv:3 {value}={state}")
                for field, (value, state) in labels.items()
            ),
            regions=regions,
            words=(Words(name="note", text=note, evidence="t.csv:3 note"),),
        )

    return make


PRESENT, ABSENT, UNKNOWN = LabelState.PRESENT, LabelState.ABSENT, LabelState.UNKNOWN


@pytest.mark.parametrize(
    ("note", "state", "heard"),
    [
        ("oedema", PRESENT, PRESENT),
        ("oedema", ABSENT, UNKNOWN),
        ("no oedema", PRESENT, UNKNOWN),
        ("no oedema", ABSENT, ABSENT),
        ("possible oedema", PRESENT, UNKNOWN),
        ("possible oedema", ABSENT, UNKNOWN),
        ("possible oedema. Oedema on the left.", PRESENT, PRESENT),
        ("no oedema on the left. Oedema on the right.", PRESENT, UNKNOWN),
        ("effusion", PRESENT, PRESENT),
        ("effusion", ABSENT, ABSENT),
        ("oedema", UNKNOWN, UNKNOWN),
        ("the film was normal", PRESENT, UNKNOWN),
        ("the film was normal", ABSENT, ABSENT),
        ("the film was not normal", PRESENT, PRESENT),
        ("the film was not normal", ABSENT, ABSENT),
    ],
)
def test_label_that_words_contradict_is_unknown(card, case, note, state, heard):
    outcome = check_labels(card, case(note, finding=("Edema", state)), TERMS)
    assert [label.state for label in outcome.case.labels if label.value == "Edema"] == [heard]
    broken = heard is UNKNOWN and state is not UNKNOWN
    assert [problem.code for problem in outcome.problems if "Edema" in problem.message] == [
        CONTRADICTED
    ] * broken


def test_name_of_the_file_speaks_too(card, case):
    outcome = check_labels(
        card, case("", name="Left_pulmonaryOedema.png", finding=("Edema", ABSENT)), TERMS
    )
    assert outcome.case.labels[0].state is UNKNOWN


def test_words_of_a_name_that_the_card_does_not_read_say_nothing(card, case):
    silent = case("")
    silent = Case(
        key="1",
        images=silent.images,
        labels=(Label(field="finding", value="Edema", state=ABSENT, evidence="e"),),
        words=(Words(name="letter", text="oedema", evidence="e"),),
    )
    assert check_labels(card, silent, TERMS).case.labels[0].state is ABSENT


def test_silence_that_words_break_is_no_absence(card, case):
    result = check_labels(card, case("oedema"), TERMS).case
    assert "Edema" in facts_of_case(card, result, TERMS).unknown
    assert "Edema" in facts_of_case(card, case(""), TERMS).absent


def test_affirmed_member_of_a_group_contradicts_the_others(card, case):
    result = check_labels(card, case("bacterial", **{"class": ("v", PRESENT)}), TERMS).case
    ground = facts_of_case(card, result, TERMS)
    assert "viral pneumonia" not in ground.present
    assert "bacterial pneumonia" not in ground.absent


def test_picture_called_normal_has_no_finding_disease_or_grade(card, case):
    labels = {
        "finding": ("Consolidation", PRESENT),
        "class": ("b", PRESENT),
        "extent": ("2", PRESENT),
    }
    ground = facts_of_case(
        card, check_labels(card, case("unremarkable", **labels), TERMS).case, TERMS
    )
    assert ground.present == {}


@pytest.mark.parametrize(("value", "stays"), [("0.5", True), ("2", False)])
def test_picture_called_normal_keeps_what_a_normal_picture_may_show(card, case, value, stays):
    result = check_labels(card, case("unremarkable", extent=(value, PRESENT)), TERMS).case
    assert (result.labels[0].state is PRESENT) == stays


def test_no_finding_beside_an_opacity_in_the_words_is_unknown(card, case):
    result = check_labels(
        card, case("patchy opacities", finding=("No Finding", PRESENT)), TERMS
    ).case
    assert facts_of_case(card, result, TERMS).present == {}


def test_marked_region_that_the_words_deny_is_unknown(card, case):
    box = Region(field="finding", value="Edema", shape=Rectangle(xyxy=(0, 0, 5, 5)), evidence="box")
    outcome = check_labels(card, case("no oedema", regions=(box,)), TERMS)
    assert "Edema" not in facts_of_case(card, outcome.case, TERMS).present
    assert len(outcome.problems) == 1


STATES = st.sampled_from(LabelState)


@given(STATES, st.text(max_size=40))
def test_words_never_make_a_label_of_an_unknown_and_are_gone(card, state, note):
    label = Label(field="finding", value="Edema", state=state, evidence="e")
    whole = Case(
        key="1",
        images=(ImageRef(paths=(Path("1.png"),)),),
        labels=(label,),
        words=(Words(name="note", text=f"{note} oedema", evidence="e"),),
    )
    result = check_labels(card, whole, TERMS).case
    assert result.words == ()
    assert result.labels[0].state in (state, UNKNOWN)


def test_nothing_of_the_text_but_the_phrase_of_the_card_is_kept(card, case):
    note = f"{PERSON}, film of {PERSON} was normal. {PERSON}: oedema, {PERSON}"
    outcome = check_labels(card, case(note, finding=("Edema", ABSENT)), TERMS)
    assert outcome.problems
    assert "Jane" not in repr(outcome)
    assert "1950" not in repr(outcome)


def test_problem_names_label_place_and_phrase(card, case):
    (problem,) = check_labels(card, case("no Oedema", finding=("Edema", PRESENT)), TERMS).problems
    assert problem.message == (
        "finding: t.csv:3 Edema=present; against t.csv:3 note: 'oedema' (denied); taken as unknown"
    )


def test_outcomes_are_counted(card, case):
    notes = ["oedema", "no oedema", "", "", "oedema"]
    labels = [("Edema", PRESENT)] * 3 + [("Consolidation", PRESENT)] * 2
    outcomes = [
        outcome
        for note, label in zip(notes, labels, strict=True)
        for outcome in check_labels(card, case(note, finding=label), TERMS).outcomes
    ]
    counts = {"confirmed": 1, "contradicted": 1, "silent": 3, "mentioned": 1}
    assert count_outcomes(Counter(outcomes)) == {"finding": counts}
    (line,) = describe_words({"words": {"toy": count_outcomes(Counter(outcomes))}})
    assert "1 labels confirmed, 1 contradicted" in line


def test_card_without_texts_leaves_a_case_as_it_is_but_for_its_words(read, case):
    checked_case = case("no oedema", finding=("Edema", PRESENT))
    outcome = check_labels(read(""), checked_case, TERMS)
    assert outcome.case.labels == checked_case.labels
    assert outcome.case.words == ()
    assert outcome.outcomes == ()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('field = "finding"\nfrom', 'field = "findings"\nfrom', "expected one of finding, class"),
        ("Edema = [", "Oedema = [", "expected concepts of the field"),
        ('["o?edema"]', '[".*"]', "expected phrases of the form"),
        ('["o?edema"]', '["(edema"]', "expected phrases whose brackets match"),
        ('["o?edema"]', "[]", "expected a table of lists of strings"),
        ('from = ["note"]\nevidence = "https://example.org"\nnormal', "normal", "'text.*from'"),
        ("spares = [", 'field = "class"\nspares = [', "expected a field with terms or against"),
    ],
)
def test_text_of_a_card_that_cannot_be_read_is_refused(read, old, new, says):
    assert old in TEXT
    with pytest.raises(CardError, match=says):
        read(TEXT.replace(old, new))
