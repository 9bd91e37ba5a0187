"""Which questions may become items, why the others may not, and what those that are alike share."""

from dataclasses import fields, replace

import pytest

from medrcube.build.questions.eligibility import identity_of, is_constant_answer, prepare_questions
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.stages.samples import Sample
from medrcube.facts import Grade, Scope, Visibility
from medrcube.ontologies.distractor_safety import CaseFacts, Evidence, SafetyRules
from medrcube.ontologies.distractor_selection import SOURCES
from medrcube.taxonomy import Anatomy, Modality, Task

BLANK = {field.name: "" for field in fields(Sample)}
RULES = SafetyRules()
POOL = ("Fracture", "Hernia", "No Finding")
ABNORMALITY, ORGAN, MODALITY = (
    Task(name) for name in ("Abnormality Diagnosis", "Organ Recognition", "Modality Recognition")
)


def marks(labels, grade=Grade.A):
    return {label: Evidence(field="f", scope=Scope.PATIENT, grade=grade) for label in labels}


def ground(present, absent=(), grade=Grade.A, **changes):
    values = {
        "present": marks(present),
        "absent": marks(absent, grade),
        "unknown": frozenset(),
        "anatomy": Anatomy("Chest"),
        "modality": Modality("X-ray"),
    }
    return CaseFacts(**{**values, **changes})


def candidate_of(key, number=0, *, source="toy", artefact="clean", **changes):
    picture = {"id": f"s{number}", "source": source, "case": f"c{number}", "artefact": artefact}
    picture |= {"anatomy": "Chest", "modality": "X-ray"}
    values = {
        "task": ABNORMALITY,
        "sample": Sample(**{**BLANK, **picture, "truth": "2", "choices": 4}),
        "field": "f",
        "key": key,
        "scope": Scope.IMAGE,
        "ground": ground([key], [label for label in POOL if label != key]),
        "pool": POOL,
    }
    return QuestionCandidate(**{**values, **changes})


def prepared(*questions, rules=RULES, **changes):
    return prepare_questions(questions, rules, SOURCES, 0, **changes)


def organ(key, number=0, **changes):
    facts = ground([key], anatomy=Anatomy("Brain"), modality=Modality("MRI"))
    return candidate_of(key, number, task=ORGAN, group="organ", pool=(), ground=facts, **changes)


def boxes(number=0, **changes):
    task = Task("ROI Grounding")
    return candidate_of("Hernia", number, task=task, artefact="boxes", pool=(), **changes)


@pytest.mark.parametrize(
    ("key", "facts", "reason"),
    [
        ("Hernia", ground(["Fracture"], ["Hernia"]), "key-not-true"),
        ("Hernia", ground(["Hernia"], ["Fracture"], unknown=frozenset({"Hernia"})), "key-not-true"),
        (
            "Alzheimer disease",
            ground(
                ["Alzheimer disease"],
                ["Fracture", "Hernia"],
                anatomy=Anatomy("Brain"),
                modality=Modality("MRI"),
            ),
            "key-not-visible",
        ),
        ("No Finding", ground(["No Finding"], ["Fracture"]), "no-finding-not-exhaustive"),
    ],
)
def test_a_key_that_is_not_proved_is_counted_with_its_reason_though_options_are_safe(
    key, facts, reason
):
    outcome = prepared(candidate_of(key, ground=facts))
    assert outcome.ready == ()
    ((counted, number),) = outcome.dropped.items()
    assert counted.startswith(f"Abnormality Diagnosis: {reason}")
    assert number == 1


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (ground(["Hernia"]), ""),
        (ground(["Fracture"]), "key-not-true"),
        (ground(["Hernia"], unknown=frozenset({"Hernia"})), "key-not-true"),
    ],
)
def test_a_number_is_asked_of_what_is_certainly_there(facts, reason):
    outcome = prepared(boxes(ground=facts))
    assert len(outcome.ready) == (not reason)
    assert dict(outcome.dropped) == ({f"ROI Grounding: {reason}": 1} if reason else {})


@pytest.mark.parametrize("accepted", Grade)
@pytest.mark.parametrize("grade", Grade)
def test_a_number_needs_the_evidence_that_is_accepted(grade, accepted):
    outcome = prepared(boxes(grade=grade), rules=SafetyRules(evidence=accepted))
    assert len(outcome.ready) == (grade <= accepted)
    assert set(outcome.dropped) == (
        set() if grade <= accepted else {f"ROI Grounding: evidence-{grade}"}
    )


@pytest.mark.parametrize("make", [boxes, lambda **changes: candidate_of("Hernia", **changes)])
def test_of_a_bar_and_an_invisible_fact_the_bar_is_counted(make):
    candidate = make(bar_reason="scope", visible=Visibility.NO)
    assert dict(prepared(candidate).dropped) == {f"{candidate.task.value}: scope": 1}
    hidden = make(visible=Visibility.NO)
    assert dict(prepared(hidden).dropped) == {f"{hidden.task.value}: not-visible": 1}
    assert prepared(make(visible=Visibility.PARTLY)).ready
    assert not prepared(make(visible=Visibility.PARTLY), least_visible=Visibility.YES).ready


def test_one_question_that_comes_twice_is_asked_once():
    questions = candidate_of("Hernia")
    assert len(prepared(questions, questions, candidate_of("Hernia", 1)).ready) == 2
    assert identity_of(questions) == "Abnormality Diagnosis|toy|c0|s0|f|Hernia"


def test_an_answer_is_the_key_in_one_spelling_and_for_numbers_also_the_number():
    answers = {entry.answer for entry in prepared(candidate_of("No Finding"), boxes(1)).ready}
    assert answers == {"no abnormality", "Hernia 2"}


@pytest.mark.parametrize(
    ("questions", "within"),
    [
        ([candidate_of("Hernia"), candidate_of("Fracture", 1)], {"toy"}),
        ([candidate_of("Hernia")], {"toy"}),
        ([organ("brain")], {""}),
        ([organ("brain"), organ("brain", 1)], {""}),
        ([organ("brain"), organ("kidney", 1)], {"toy"}),
        ([organ("brain"), organ("kidney", 1, source="other")], {""}),
        ([boxes()], {""}),
    ],
)
def test_answers_stay_within_their_source_unless_it_has_one_by_its_nature(questions, within):
    ready = prepared(*questions).ready
    assert len(ready) == len(questions)
    assert {entry.within for entry in ready} == within


def test_modality_and_a_single_organ_are_constant_and_an_unknown_task_is_not():
    assert is_constant_answer("Modality Recognition", {"CT", "MRI"})
    assert is_constant_answer("Organ Recognition", {"brain"})
    assert not is_constant_answer("Organ Recognition", {"brain", "kidney"})
    assert not is_constant_answer("Abnormality Diagnosis", {"Hernia"})
    assert not is_constant_answer("of a later version", {"Hernia"})


ALONE = candidate_of("Hernia")


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        (candidate_of("Hernia", 1), True),
        (candidate_of("Hernia", 1, source="other"), True),
        (candidate_of("Fracture", 1), False),
        (candidate_of("Hernia", 1, task=Task("Disease Diagnosis")), False),
        (candidate_of("Hernia", 1, scope=Scope.PATIENT), False),
        (candidate_of("Hernia", 1, pool=POOL[:2]), False),
        (candidate_of("Hernia", 1, ground=replace(ALONE.ground, region=True)), False),
        (candidate_of("Hernia", 1, ground=replace(ALONE.ground, anatomy=Anatomy("Brain"))), False),
        (candidate_of("Hernia", 1, ground=replace(ALONE.ground, modality=Modality("CT"))), False),
        (
            candidate_of("Hernia", 1, ground=replace(ALONE.ground, unknown=frozenset({"Mass"}))),
            False,
        ),
        (candidate_of("Hernia", 1, ground=ground(["Hernia"], ["Fracture"])), False),
        (candidate_of("Hernia", 1, ground=ground(["Hernia", "Mass"], ["Fracture"])), False),
        (candidate_of("Hernia", 1, ground=ground(["Hernia"], ["Fracture"], Grade.B)), False),
    ],
)
def test_questions_share_their_options_exactly_if_all_that_bears_on_them_is_alike(other, shared):
    first, second = prepared(ALONE, other).ready
    assert (first.compatible is second.compatible) is shared
    assert {first.compatible.number, second.compatible.number} == ({0} if shared else {0, 1})


def test_options_are_held_by_their_names():
    (entry,) = prepared(ALONE).ready
    assert set(entry.compatible.labels.values()) == set(entry.compatible.pool.allowed)
    assert entry.compatible.labels["fracture"] == "Fracture"
    assert entry.compatible.passed == (12,)


def test_a_block_is_of_one_task_group_wording_and_source():
    (entry,) = prepared(ALONE).ready
    assert entry.block_group.startswith("Abnormality Diagnosis||")
    assert entry.block_group.endswith("|toy")
    (single,) = prepared(organ("brain")).ready
    assert single.block_group.startswith("Organ Recognition|organ")
    assert not single.block_group.endswith("|")
