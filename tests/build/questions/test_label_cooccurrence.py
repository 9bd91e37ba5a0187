"""How often a label is absent where a key is present, as the cases of a source say."""

from dataclasses import fields

import pytest

from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.label_cooccurrence import LEAST, LabelCooccurrence, known_of_cases
from medrcube.build.stages.samples import Sample
from medrcube.facts import Grade, Scope
from medrcube.ontologies.distractor_safety import CaseFacts, Evidence
from medrcube.taxonomy import Anatomy, Modality, Task

BLANK = {field.name: "" for field in fields(Sample)}
POOL = ("Edema", "Pneumothorax", "Fracture")


def shares(queries):
    return LabelCooccurrence(known_of_cases(queries))


def marks(labels, grade=Grade.A):
    return {label: Evidence(field="f", scope=Scope.IMAGE, grade=grade) for label in labels}


def ground(present, absent=(), grade=Grade.A, **changes):
    return CaseFacts(
        present=marks(present),
        absent=marks(absent, grade),
        unknown=frozenset(),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
        **changes,
    )


def query(number, values, *, source="toy", picture="", **changes):
    return QuestionCandidate(
        **{
            "task": Task("Abnormality Diagnosis"),
            "sample": Sample(
                **{**BLANK, "id": f"{number}{picture}", "source": source, "case": f"c{number}"}
            ),
            "field": "f",
            "key": "Edema",
            "scope": Scope.IMAGE,
            "ground": values,
            "pool": POOL,
            **changes,
        }
    )


ALONE = ground(("Edema",), ("Pneumothorax",))
BOTH = ground(("Edema", "Pneumothorax"))


def mixed(**changes):
    """Thirty cases with edema; in ten of them a pneumothorax, in twenty none."""
    return [query(n, BOTH if n < 10 else ALONE, **changes) for n in range(30)]


def test_a_share_is_that_of_the_cases_that_say_whether_it_is_there():
    queries = mixed() + [query(100 + n, ground(("Edema",))) for n in range(50)]
    assert shares(queries).apart(queries[0]) == {"Pneumothorax": pytest.approx(2 / 3)}


def test_several_pictures_and_tasks_of_a_case_count_once():
    queries = mixed() + [query(n, BOTH, picture="b") for n in range(10)]
    queries += [query(n, BOTH, task=Task("Disease Diagnosis")) for n in range(10)]
    assert shares(queries).apart(queries[0]) == {"Pneumothorax": pytest.approx(2 / 3)}


def test_sources_are_counted_apart():
    queries = mixed() + [query(n, ALONE, source="other") for n in range(30)]
    assert shares(queries).apart(queries[-1]) == {"Pneumothorax": 1.0}


@pytest.mark.parametrize(
    ("grade", "is_known"), [(Grade.A, True), (Grade.B, True), (Grade.C, False)]
)
def test_silence_says_nothing(grade, is_known):
    queries = [query(n, ground(("Edema",), ("Fracture",), grade)) for n in range(LEAST)]
    assert bool(shares(queries).apart(queries[0])) is is_known


def test_a_source_that_only_names_what_is_there_does_not_tell_what_is_not():
    queries = [query(n, BOTH) for n in range(LEAST)]
    assert shares(queries).apart(queries[0]) == {}


def test_a_few_cases_tell_nothing():
    queries = [query(n, ALONE) for n in range(LEAST - 1)]
    assert shares(queries).apart(queries[0]) == {}


def test_a_marked_region_is_no_case():
    queries = [query(n, ground(("Edema",), ("Fracture",), region=True)) for n in range(LEAST)]
    assert shares(queries).apart(queries[0]) == {}


def test_members_of_an_exclusive_group_have_none():
    queries = mixed(group="chest view")
    assert shares(queries + mixed()).apart(queries[0]) == {}


def test_a_question_whose_options_are_no_labels_has_none():
    counted = shares(mixed())
    assert counted.apart(query(0, BOTH))
    assert counted.apart(query(0, BOTH, pool=())) == {}
