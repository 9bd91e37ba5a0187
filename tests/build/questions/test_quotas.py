from collections import Counter

import pytest

from medrcube.build.questions.eligibility import EligibleQuestion
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.sampling.quotas import select_questions
from medrcube.build.stages.samples import Sample
from medrcube.facts import Scope
from medrcube.ontologies.distractor_safety import CaseFacts
from medrcube.taxonomy import Anatomy, Modality, Task

BLANK = dict.fromkeys(Sample.__dataclass_fields__, "")
NUMBERS = {"choices": 0, "area": 0.0, "regions": 0, "width": 1, "height": 1, "redistribute": True}
GROUND = CaseFacts(
    present={}, absent={}, unknown=frozenset(), anatomy=Anatomy("Chest"), modality=Modality("X-ray")
)


def ready(number, *, answer="edema", task=Task("Abnormality Diagnosis"), patient="", case=""):
    sample = Sample(
        **{
            **BLANK,
            **NUMBERS,
            "id": f"s{number}",
            "source": "toy",
            "case": case or f"c{number}",
            "patient": patient,
            "frames": f"{number}",
        }
    )
    query = QuestionCandidate(
        task=task, sample=sample, field="f", key=answer, scope=Scope.IMAGE, ground=GROUND
    )
    lot = f"{number * 7919 % 1000:04}"
    return EligibleQuestion(
        query=query, identity=f"{task}{number}{answer}", lot=lot, answer=answer, compatible=None
    )


def test_a_quota_holds_for_every_source_and_task():
    tasks = (Task("Abnormality Diagnosis"), Task("View Recognition"))
    selection = select_questions(
        [ready(n, task=task) for task in tasks for n in range(9)], per_cell=4
    )
    assert Counter(item.query.task for item in selection) == dict.fromkeys(tasks, 4)


def test_no_quota_keeps_everything():
    everything = [ready(n) for n in range(9)]
    selection = select_questions(everything, per_cell=None)
    assert {item.identity for item in selection} == {entry.identity for entry in everything}


def test_answers_are_balanced_as_far_as_they_go():
    answers = ["edema"] * 50 + ["nodule"] * 20 + ["hernia"] * 2
    selection = select_questions(
        [ready(n, answer=answer) for n, answer in enumerate(answers)], per_cell=20
    )
    assert Counter(item.answer for item in selection) == {"edema": 9, "nodule": 9, "hernia": 2}


def test_a_patient_comes_twice_only_when_all_have_come_once():
    selection = select_questions([ready(n, patient=f"p{n % 5}") for n in range(25)], per_cell=7)
    counts = Counter(item.query.sample.patient for item in selection)
    assert sorted(counts.values()) == [1, 1, 1, 2, 2]


def test_without_patients_every_case_counts_as_one():
    selection = select_questions(
        [ready(n, case="same" if n < 20 else "") for n in range(25)], per_cell=6
    )
    assert sum(item.query.sample.case == "same" for item in selection) == 1


def test_tasks_meet_on_the_same_pictures():
    questions = [ready(n) for n in range(40)]
    questions += [ready(n, task=Task("View Recognition")) for n in range(40)]
    questions += [ready(n, task=Task("Disease Diagnosis")) for n in range(10, 18)]
    pictures = {}
    for question in select_questions(questions, per_cell=5):
        pictures.setdefault(question.query.task, set()).add(question.query.sample.id)
    assert pictures[Task("Disease Diagnosis")] == pictures[Task("View Recognition")]
    assert pictures[Task("Disease Diagnosis")] == pictures[Task("Abnormality Diagnosis")]


def test_the_order_of_the_input_does_not_matter():
    answers = ["edema", "nodule", "hernia"]
    questions = [ready(n, answer=answers[n % 3], patient=f"p{n % 4}") for n in range(30)]
    assert select_questions(questions[::-1], per_cell=10) == select_questions(
        questions, per_cell=10
    )


def test_a_quota_of_none_at_all_is_refused():
    with pytest.raises(ValueError, match="one or more"):
        select_questions([], per_cell=0)
